extension FreezeScript {
    /// The part of the script that makes the document: what stands before its first element, and that.
    static let document =
        #"""
        // What XML can say
        //
        // Scripts, and the parser of HTML, make names, comments and texts that a document in XML can't have: with one of
        // them it would be shown as an error.

        const start = 'A-Z_a-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u02ff\\u0370-\\u037d\\u037f-\\u1fff\\u200c\\u200d'
          + '\\u2070-\\u218f\\u2c00-\\u2fef\\u3001-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\ufffd\\u{10000}-\\u{effff}';
        const following = start + '.0-9\\u00b7\\u0300-\\u036f\\u203f\\u2040\\-';
        const isName = new RegExp(`^[${start}][${following}]*$`, 'u'), notInNames = new RegExp(`[^${following}]`, 'gu');
        const unwritableComment = isXML ? /--|-$/ : /^-?>|--!?>|<!--|--!$|<!-$/;
        const isWritable = item => isName.test(item.localName)
          && (item.namespaceURI === null ? item.name !== 'xmlns' : item.prefix === null || isName.test(item.prefix));
        // A copy of an element without its content, named as XML can name it.
        const writable = element => {
          const name = localName(element), prefix = getter(Element, 'prefix')(element);
          const isNamed = !isXML || (isName.test(name) && (prefix === null || isName.test(prefix)));
          const copy = isNamed ? importNode(inert, element, false)
            : makeInNamespace(inert, namespaceOf(element), '_' + name.replace(notInNames, '_'));
          if (!isXML) return copy;
          for (const item of Array.from(attributesOf(element))) {
            if (!isWritable(item)) copy.removeAttributeNS(item.namespaceURI, item.localName);
            else if (!isNamed) copy.setAttributeNS(item.namespaceURI, item.name, item.value);
          }
          return copy;
        };
        const xmlText = node => new XMLSerializer().serializeToString(node)
          .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd');
        const errorsOf = (type, tree) => method(type, 'getElementsByTagNameNS')(tree, html, 'parsererror').length;
        let errors = 0;

        // The document

        const doctypeText = of => {
          const type = doctypeOf(of);
          if (!type || (isXML && !isName.test(type.name))) return '';
          const quoted = text => text.includes('"') ? `'${text}'` : `"${text}"`;
          const hasBoth = text => text.includes('"') && text.includes("'");
          const isKept = !hasBoth(type.publicId) && !hasBoth(type.systemId)
            && !(isXML && /[^ \r\na-zA-Z0-9'()+,./:=?;!*#@$_%-]/.test(type.publicId));
          const identifiers = !isKept ? '' : type.publicId
            ? ` PUBLIC ${quoted(type.publicId)}` + (type.systemId || isXML ? ` ${quoted(type.systemId)}` : '')
            : type.systemId ? ` SYSTEM ${quoted(type.systemId)}` : '';
          return `<!DOCTYPE ${type.name}${identifiers}>`;
        };
        // The style sheets that stand before an XML document (https://www.w3.org/TR/xml-stylesheet/).
        const inAttribute = text => text.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
        const sheetsText = () => {
          let text = '';
          for (let node = isXML ? firstChild(document) : null; node; node = nextSibling(node)) {
            const sheet = nodeType(node) === 7 ? node.sheet : null;
            if (!(sheet instanceof CSSStyleSheet) || !sheet.href || sheet.disabled) continue;
            const media = sheet.media.mediaText ? ` media="${inAttribute(sheet.media.mediaText)}"` : '';
            const charset = encoding === 'UTF-8' ? '' : ` charset="${inAttribute(encoding)}"`;
            const data = `type="text/css" href="${inAttribute(sheet.href)}"${media}${charset}`;
            sheets.add(data);
            text += `<?xml-stylesheet ${data}?>`;
          }
          return text;
        };
        const markup = isUpgraded => {
          keepStates(document);
          const copy = elementCopy(root, false)?.node;
          if (!copy) return isXML ? `<html xmlns="${html}"/>` : '<!DOCTYPE html><meta charset=utf-8>';
          fill(root, copy);
          if (localName(root) === 'html' && namespaceOf(root) === html) {
            if (!headCopy) copy.prepend(headCopy = makeElement(inert, 'head'));
            if (isUpgraded && isSecure) headCopy.prepend(upgradeMeta());
            const meta = makeElement(inert, 'meta');
            meta.setAttribute('charset', 'utf-8');
            headCopy.prepend(meta);
            for (const style of adoptedStyles(document)) append(bodyHasSheets && bodyCopy ? bodyCopy : headCopy, style);
          } else if (isXML) {
            for (const style of adoptedStyles(document)) append(copy, style);
          }
          if (isXML) errors = errorsOf(Element, copy);
          return sheetsText() + doctypeText(document) + (isXML ? xmlText(copy) : markupOf(copy));
        };
        """#
}
