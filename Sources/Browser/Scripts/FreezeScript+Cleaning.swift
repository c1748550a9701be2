extension FreezeScript {
    /// The part of the script that looks at finished markup as a browser reads it.
    ///
    /// Scripts of a page make what no markup can say: elements and attributes of any name in any namespace, texts with
    /// the end of the element that they are in. Written out, these become others. So the markup is read without running
    /// anything, what is active in it goes, and it is written again, until there is nothing left to go.
    static let cleaning =
        #"""
        // What the markup is read as

        const removeAttribute = method(Element, 'removeAttributeNode'), remove = method(Node, 'removeChild');
        const insert = method(Node, 'insertBefore'), contentOf = getter(HTMLTemplateElement, 'content');
        const parse = method(DOMParser, 'parseFromString');
        const mostRounds = 8;
        // The contents that frames were given here: documents that were frozen.
        const contents = new Set();
        // The style sheets that were written before an XML document.
        const sheets = new Set();
        const parsedType = ['text/html', 'application/xhtml+xml', 'image/svg+xml'].includes(contentType)
          ? contentType : 'application/xml';
        const asRead = text => text.replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd');
        const frameNames = ['iframe', 'frame', 'object', 'embed'];
        const urlNames = ['href', 'src', 'data', 'action', 'formaction', 'poster', 'background', 'cite', 'longdesc', 'code'];
        const changedNames = ['to', 'from', 'by', 'values'];
        // Whether what is there may be a document of its own, with scripts.
        const isInnerDocument = url => /^(?:blob|filesystem|data):/i.test(url = url.replace(/[\u0000-\u0020]/g, ''))
          && !/^data:(?:[,;]|image\/(?!svg)|audio\/|video\/|font\/|text\/plain[;,]|application\/pdf[;,])/i.test(url);
        const renamed = (owner, element) => {
          const copy = makeElement(owner, 'pre');
          copyQuiet(element, copy);
          return copy;
        };
        const isActive = (element, name) => {
          if (name === 'script') scripts += 1;
          if (name === 'script' || namespaceOf(element) !== html) return name === 'script';
          if (name === 'meta') {
            const charset = attribute(element, 'charset'), kind = attribute(element, 'http-equiv');
            const isOwn = charset === null ? kind === policy && attribute(element, 'content') === upgrade
              : charset === 'utf-8' && kind === null;
            return !isOwn && isUnwantedMeta(element);
          }
          return name === 'noscript' || name === 'base';
        };
        const isActiveAttribute = (item, name, isFrame) => {
          const key = item.localName.toLowerCase(), value = item.value;
          if (key.startsWith('on')) return true;
          if (changedNames.includes(key)) return value.split(';').some(isScriptURL);
          if (isFrame && key === 'srcdoc') return !contents.has(asRead(value));
          if (isFrame && (key === 'src' || key === 'data') && isInnerDocument(value))
            return !contents.has(asRead(value)) && !isStill(value);
          return (urlNames.includes(key) || (name === 'param' && key === 'value')) && isScriptURL(value);
        };
        // A picture in SVG that does nothing by itself.
        const isStill = url => {
          const [start, base64] = /^data:image\/svg\+xml(?:;(?:charset=)?utf-?8)?(;base64)?,/i.exec(url) ?? [];
          try {
            const content = url.slice(start.length), text = base64 ? atob(content) : decodeURIComponent(content);
            // No text of another encoding.
            return !/[\0-\x08\x0e-\x1f]/.test(text) && !clean(parse(new DOMParser(), text, 'image/svg+xml'));
          } catch {
            return false;
          }
        };
        const isSheet = node => node.target === 'xml-stylesheet' && sheets.has(node.data);
        // Removes what is active; whether there was any.
        const clean = parsed => {
          const pending = [parsed], texts = [];
          let isChanged = false;
          while (pending.length > 0) {
            const parent = pending.pop();
            for (let child = firstChild(parent), next; child; child = next) {
              next = nextSibling(child);
              const type = nodeType(child), name = type === 1 ? localName(child).toLowerCase() : '';
              if ((type === 7 && !isSheet(child)) || (type === 1 && isActive(child, name))) {
                remove(parent, child);
                isChanged = true;
              }
              if (type !== 1 || !parentNode(child)) continue;
              const isHTML = namespaceOf(child) === html, isFrame = isHTML && frameNames.includes(name);
              for (const item of Array.from(attributesOf(child))) {
                if (!isActiveAttribute(item, name, isFrame)) continue;
                removeAttribute(child, item);
                isChanged = true;
              }
              if (isHTML && name === 'plaintext') {
                const copy = renamed(parsed, child);
                append(copy, makeText(parsed, textOf(child)));
                insert(parent, copy, child);
                remove(parent, child);
                texts.push(copy);
                isChanged = true;
                continue;
              }
              if (isHTML && ['pre', 'listing', 'textarea'].includes(name)) texts.push(child);
              if (isHTML && name === 'template') pending.push(contentOf(child));
              pending.push(child);
            }
          }
          // The parser drops a first line feed.
          if (isChanged && !isXML) {
            for (const element of texts)
              if (textOf(element)[0] === '\n') insert(element, makeText(parsed, '\n'), firstChild(element));
          }
          return isChanged;
        };
        const settled = text => {
          for (let round = 0; round < mostRounds; round += 1) {
            const parsed = parse(new DOMParser(), text, parsedType), top = rootOf(parsed);
            // The error that a document was shown with is a part of what was written.
            if (isXML && errorsOf(Document, parsed) > errors) return null;
            if (!clean(parsed)) return text;
            text = Array.from(sheets, data => `<?xml-stylesheet ${data}?>`).join('') + doctypeText(parsed) + (isXML ? xmlText(top) : markupOf(top));
          }
          // It was made to become another one each time it is read: its text is what can be kept.
          const plain = makeElement(inert, 'pre');
          append(plain, makeText(inert, text));
          return isXML ? `<html xmlns="${html}"><body>${new XMLSerializer().serializeToString(plain)}</body></html>`
            : `<!DOCTYPE html><meta charset=utf-8>${markupOf(plain)}`;
        };
        // The same for what another page has written.
        const settle = (text, givenContents, givenSheets, givenErrors) => {
          for (const content of givenContents) contents.add(content);
          for (const sheet of givenSheets) sheets.add(sheet);
          errors = givenErrors;
          return { text: settled(text), scripts };
        };

        """#
}
