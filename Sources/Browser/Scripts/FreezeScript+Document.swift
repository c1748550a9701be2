extension FreezeScript {
    /// The part of the script that makes the document: what stands before its first element, and that.
    static let document =
        #"""
        // The document

        const doctypeText = of => {
          const type = doctypeOf(of);
          if (!type) return '';
          const quoted = text => text.includes('"') ? `'${text}'` : `"${text}"`;
          const identifiers = type.publicId
            ? ` PUBLIC ${quoted(type.publicId)}` + (type.systemId ? ` ${quoted(type.systemId)}` : '')
            : type.systemId ? ` SYSTEM ${quoted(type.systemId)}` : '';
          return `<!DOCTYPE ${type.name}${identifiers}>`;
        };
        // The style sheets that stand before an XML document (https://www.w3.org/TR/xml-stylesheet/).
        const inAttribute = text => text.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;');
        const sheetsText = () => {
          let text = '';
          for (let node = isXML ? firstChild(document) : null; node; node = nextSibling(node)) {
            const sheet = nodeType(node) === 7 ? node.sheet : null;
            if (!(sheet instanceof CSSStyleSheet) || !sheet.href || sheet.disabled) continue;
            const media = sheet.media.mediaText ? ` media="${inAttribute(sheet.media.mediaText)}"` : '';
            const data = `type="text/css" href="${inAttribute(sheet.href)}"${media}`;
            sheets.add(data);
            text += `<?xml-stylesheet ${data}?>`;
          }
          return text;
        };
        const markup = () => {
          const copy = elementCopy(root, false)?.node;
          if (!copy) return isXML ? `<html xmlns="${html}"/>` : '<!DOCTYPE html><meta charset=utf-8>';
          fill(root, copy);
          if (localName(root) === 'html' && namespaceOf(root) === html) {
            if (!headCopy) copy.prepend(headCopy = makeElement(inert, 'head'));
            const meta = makeElement(inert, 'meta');
            meta.setAttribute('charset', 'utf-8');
            headCopy.prepend(meta);
            for (const style of adoptedStyles(document)) append(bodyHasSheets && bodyCopy ? bodyCopy : headCopy, style);
          } else if (isXML) {
            for (const style of adoptedStyles(document)) append(copy, style);
          }
          return sheetsText() + doctypeText(document) + (isXML ? new XMLSerializer().serializeToString(copy) : markupOf(copy));
        };
        """#
}
