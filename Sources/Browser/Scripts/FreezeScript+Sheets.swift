extension FreezeScript {
    /// The part of the script that writes the rules of style sheets out which stand in no file, or not as they are
    /// read.
    static let sheets =
        #"""
        // Style sheets

        const isConnected = getter(Node, 'isConnected');
        const rulesText = sheet => Array.from(sheet.cssRules, rule => rule.cssText).join('\n');
        const isAsWritten = (sheet, text) => {
          const probe = new CSSStyleSheet();
          probe.replaceSync(text);
          const rules = Array.from(sheet.cssRules).filter(rule => !(rule instanceof CSSImportRule));
          return probe.cssRules.length === rules.length
            && rules.every((rule, index) => rule.cssText === probe.cssRules[index].cssText);
        };
        // Imported sheets that say nothing of their encoding have that of the sheet that names them (css-syntax-3 §3.2),
        // which is UTF-8 from now on: where that makes a difference they are written out, and where they name what the page
        // was refused. By their URLs.
        const imports = new Map();
        const writeImports = (sheet, resolve, depth) => {
          let isAny = false;
          for (const rule of Array.from(sheet.cssRules)) {
            if (!(rule instanceof CSSImportRule) || !rule.styleSheet || depth > deepestImport) continue;
            const inner = rule.styleSheet, within = url => resolvedIn(inner, url);
            try {
              const isOther = writeImports(inner, within, depth + 1) || namesRefused(inner);
              const text = absoluteCSS(rulesText(inner), givenIn(inner));
              if (!isOther && (encoding === 'UTF-8' || /^[\0-\x7f]*$/.test(text))) continue;
              imports.set(resolve(rule.href), 'data:text/css;charset=utf-8,' + encodeURIComponent(text.toWellFormed()));
              isAny = true;
            } catch {
              // A sheet of another origin, which no script may read.
            }
          }
          return isAny;
        };
        const deepestImport = 16;
        const resolvedIn = (sheet, url) => {
          try {
            return new URL(url, sheet.href).href;
          } catch {
            return url;
          }
        };
        // What a sheet is given of what it names, and whether it was refused some of that.
        const givenIn = sheet => url => isBlocked(resolvedIn(sheet, url)) ? nothing : resolvedIn(sheet, url);
        const namesRefused = sheet => {
          if (blocked.size + unshown.size === 0) return false;
          let isAny = false;
          absoluteCSS(rulesText(sheet), url => {
            isAny ||= isBlocked(resolvedIn(sheet, url));
            return url;
          });
          return isAny;
        };
        // The images that were asked for say whether pictures were refused that something else was given.
        const block = (urls, partly, secure) => {
          for (const url of urls) blocked.add(url);
          for (const url of secure) secured.add(url);
          const images = Array.from(getter(Document, 'images')(document), image =>
            [withoutFragment(image.currentSrc || absolute(attribute(image, 'src') ?? '')), image]);
          for (const url of partly) {
            const own = images.filter(pair => pair[0] === url).map(pair => pair[1]);
            if (own.some(image => image.complete && image.naturalWidth === 0)
              && !own.some(image => image.naturalWidth > 0)) unshown.add(url);
          }
        };
        // What a script has made of a sheet's media, which the element does not say.
        const keepMedia = (sheet, element, copy) => {
          const said = new CSSStyleSheet({ media: attribute(element, 'media') ?? '' }).media.mediaText;
          if (sheet.media.mediaText !== said) copy.setAttribute('media', sheet.media.mediaText);
        };
        const styleContent = (element, copy) => {
          const text = textOf(element), sheet = element.sheet;
          if (!sheet) {
            // A policy of the page has refused it (Content-Security-Policy), or it is none of CSS.
            if (text !== '' && isConnected(element)) copy.setAttribute('media', 'not all');
            return text;
          }
          keepMedia(sheet, element, copy);
          if (sheet.disabled) copy.setAttribute('media', 'not all');
          try {
            if (encoding !== 'UTF-8' || blocked.size + unshown.size > 0) writeImports(sheet, asked, 0);
            return isAsWritten(sheet, text) ? text : rulesText(sheet);
          } catch {
            return text;
          }
        };
        // Whether what an attribute says of its element's style does not hold, though it says something.
        const declarations = [HTMLElement, SVGElement, MathMLElement].map(type => [type, getter(type, 'style')]);
        const probe = makeElement(inert, 'p');
        const isStyleRefused = element => {
          const text = attribute(element, 'style'), read = declarations.find(([type]) => element instanceof type);
          if (!text || !read || read[1](element).length > 0) return false;
          probe.style.cssText = text;
          return probe.style.length > 0;
        };
        const styleOf = (sheet, resolve = resource) => {
          const style = makeElement(inert, 'style');
          if (sheet.media.mediaText) style.setAttribute('media', sheet.media.mediaText);
          append(style, makeText(inert, styleText(absoluteCSS(rulesText(sheet), resolve))));
          return style;
        };
        const adoptedStyles = scope =>
          Array.from(adoptedOf(scope) ?? []).filter(sheet => !sheet.disabled).map(sheet => styleOf(sheet));
        // The sheet of a blob, which may be gone once it was read.
        const blobStyle = element => {
          const sheet = element.sheet;
          if (!sheet || !/^blob:/i.test(sheet.href ?? '')) return null;
          try {
            const style = styleOf(sheet);
            if (sheet.disabled) style.setAttribute('media', 'not all');
            return style;
          } catch {
            return null;
          }
        };
        // The sheet that names what the page was refused, which its file would bring.
        const refusedStyle = element => {
          const sheet = element.sheet;
          if (!sheet || !sheet.href || blocked.size + unshown.size === 0) return null;
          try {
            const hasImports = writeImports(sheet, url => resolvedIn(sheet, url), 0);
            if (!hasImports && !namesRefused(sheet)) return null;
            const style = styleOf(sheet, givenIn(sheet));
            if (sheet.title) style.setAttribute('title', sheet.title);
            if (sheet.disabled) style.setAttribute('media', 'not all');
            return style;
          } catch {
            // One of another origin, which no script may read.
            return null;
          }
        };

        """#
}
