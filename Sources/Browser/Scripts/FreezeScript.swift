/// The script that turns a live document into markup that shows the same without scripts.
///
/// It runs in an isolated world: the page's scripts can neither see nor change what it uses. Forms and documents name
/// their controls as properties of their own (https://html.spec.whatwg.org/#dom-document-nameditem), so that what is
/// read of the live tree is read with the prototypes' accessors. Copies are made in a document without a browsing
/// context, which loads nothing and constructs no custom elements.
///
/// Its value is an object: `mark(element, kind, value, type, isQuirky)` says what stands for a frame's content (`url`:
/// a document's URL; `markup`: the content itself, of a media type, and whether it is in quirks mode; `blank`: content
/// that was never loaded; `none`: nothing, where the browser shows an error), `shadow(root)` names a shadow root that
/// is closed, `block(urls, partly, secure)` what the document was refused, wholly, or where one thing asked for it and
/// not another, and what it asked for by https alone, and `run(isUpgraded)` promises the document, which a field of its
/// response may have told to ask for all by https. Before that, `unread()` promises the
/// places of canvases that no script can read, `show(index)` shows one of them alone, `take(index, picture)` says what
/// is seen of it, and `showAll()` ends that. Where the document lets nobody parse markup, `run()` promises what is
/// `unsettled`; `settle(text, …)` of the script in another page, and `finish(text)` of this one make the document of
/// that.
enum FreezeScript {
    ///
    /// - Parameter type: that of the documents which `settle` reads, for a page that has none of its own: `text/html`,
    ///   `application/xhtml+xml`, `image/svg+xml`, or `application/xml`. Nil, the default, for that of the page.
    static func source(of type: StaticString? = nil) -> String {
        "\(body)(\(type.map { "'\($0)'" } ?? "null"))"
    }

    private static let body =
        #"""
        (ownType => {
        'use strict';
        \#(trust)
        const html = 'http://www.w3.org/1999/xhtml', svg = 'http://www.w3.org/2000/svg';
        const getter = (type, name) => {
          const read = Object.getOwnPropertyDescriptor(type.prototype, name).get;
          return object => read.call(object);
        };
        const method = (type, name) => {
          const body = type.prototype[name];
          return (object, ...rest) => body.apply(object, rest);
        };
        const nodeType = getter(Node, 'nodeType'), firstChild = getter(Node, 'firstChild');
        const nextSibling = getter(Node, 'nextSibling'), parentNode = getter(Node, 'parentNode');
        const localName = getter(Element, 'localName'), namespaceOf = getter(Element, 'namespaceURI');
        const attribute = method(Element, 'getAttribute'), shadowRootOf = getter(Element, 'shadowRoot');
        const textOf = getter(Node, 'textContent'), append = method(Node, 'appendChild');
        const attributesOf = getter(Element, 'attributes'), doctypeOf = getter(Document, 'doctype');
        const rootOf = getter(Document, 'documentElement'), markupOf = getter(Element, 'outerHTML');
        // Documents that are no HTML would make elements of no namespace.
        const makeInNamespace = method(Document, 'createElementNS'), importNode = method(Document, 'importNode');
        const makeElement = (owner, name) => makeInNamespace(owner, html, name);
        const makeText = method(Document, 'createTextNode'), makeWalker = method(Document, 'createTreeWalker');
        const implementation = getter(Document, 'implementation');
        const matches = method(Element, 'matches'), hostOf = getter(ShadowRoot, 'host');
        const adoptedOf = root => root instanceof Document
          ? getter(Document, 'adoptedStyleSheets')(root) : root.adoptedStyleSheets;
        const contentType = ownType ?? getter(Document, 'contentType')(document);
        // XML that says nothing of how it looks is shown within a page of the browser's, which is none of the document.
        const shownRoot = root => {
          if (!isXML || !root || localName(root) !== 'html') return root;
          const source = makeWalker(document, root, NodeFilter.SHOW_ELEMENT, element =>
            attribute(element, 'id') === 'webkit-xml-viewer-source-xml' ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP);
          return (source.nextNode() && getter(Element, 'firstElementChild')(source.currentNode)) ?? root;
        };
        const ownURL = getter(Document, 'URL')(document), baseURL = getter(Node, 'baseURI')(document);
        const encoding = getter(Document, 'characterSet')(document);
        const isXML = /[/+]xml$/.test(contentType) || contentType === 'text/xsl';
        const root = shownRoot(rootOf(document));
        const inert = isXML
          ? implementation(document).createDocument(html, 'html', null)
          : implementation(document).createHTMLDocument('');
        const anchor = makeElement(document, 'a');
        const marks = new Map(), blobImages = new Map(), objectData = new Map(), closedRoots = new Map();
        const shadowOf = element => shadowRootOf(element) ?? closedRoots.get(element) ?? null;
        let scripts = 0, headCopy = null, bodyCopy = null, bodyHasSheets = false;
        const largestBlob = 64 << 20, deepestBlob = 4;

        // URLs

        const withoutFragment = url => url.split('#', 1)[0];
        const isBaseOwn = withoutFragment(ownURL) === withoutFragment(baseURL);
        const isScriptURL = text => /^javascript:/i.test(text.replace(/[\u0000-\u0020]/g, ''));
        // An anchor's own resolution encodes queries as the document's encoding has it; URL() would take UTF-8.
        const absolute = text => {
          const url = text.trim();
          if (isBaseOwn && (url === '' || url[0] === '#')) return text;
          if (/^(?:data|blob|about|cid|mailto|tel):/i.test(url)) return url;
          anchor.setAttribute('href', url);
          return anchor.href || text;
        };
        // What the page asked for and was refused, by a policy of its own or for want of leave, is not asked for again.
        // Of what only objects and frames were given, `unshown`, no pictures are shown.
        const blocked = new Set(), unshown = new Set(), nothing = 'data:,';
        const isBlocked = (url, isFrame = false) => {
          const plain = withoutFragment(url);
          return blocked.has(plain) || (!isFrame && unshown.has(plain));
        };
        // What was asked for by https alone, though it may be named by http: browsers upgrade what pages of https show
        // (https://www.w3.org/TR/mixed-content/).
        const secured = new Set();
        const asked = text => {
          const url = absolute(text);
          if (!/^http:/i.test(url)) return url;
          const secure = 'https' + url.slice(4);
          return secured.has(withoutFragment(secure)) ? secure : url;
        };
        // What is empty asks for nothing, whatever the base is.
        const resource = (text, isFrame) => !text.trim() ? text : isBlocked(asked(text), isFrame) ? nothing : asked(text);
        const unescaped = text => text.replace(/\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\r\n\f])?|(\r\n|[\n\r\f])|([\s\S]))/gi,
          (_, code, line, character) => {
            if (line) return '';
            if (!code) return character;
            const value = parseInt(code, 16);
            return value === 0 || value > 0x10ffff ? '\ufffd' : String.fromCodePoint(value);
          });
        const quotedURL = url => `"${url.replace(/["\\]/g, '\\$&').replace(/[\n\r\f]/g, '')}"`;
        const string = `"[^"\\\\\\n]*(?:\\\\[\\s\\S][^"\\\\\\n]*)*"|'[^'\\\\\\n]*(?:\\\\[\\s\\S][^'\\\\\\n]*)*'`;
        // A blank ends an escape by number, and is a part of it (css-syntax-3 §4.3.7).
        const escape = '\\\\(?:[0-9a-f]{1,6}(?:\\r\\n|[ \\t\\r\\n\\f])|[\\s\\S])';
        const token = new RegExp(
          `/\\*[\\s\\S]*?(?:\\*/|$)|@import\\s*(${string})|(${string})|\\burl\\(\\s*(?:(${string})|`
          + `([^"'()\\\\\\s]*(?:${escape}[^"'()\\\\\\s]*)*))\\s*\\)`, 'gi');
        // Style sheets' text, its URLs absolute (css-syntax-3 §4.3.6). What is data, or of this document, stays.
        const absoluteURLs = (text, resolve) => text.replace(token, (whole, imported, plain, quoted, bare) => {
          const raw = imported ?? quoted ?? bare;
          if (raw === undefined || plain !== undefined) return whole;
          const url = unescaped(bare !== undefined ? bare : raw.slice(1, -1)).trim();
          if (url === '' || url[0] === '#' || /^(?:data|about|blob):/i.test(url)) return whole;
          const found = resolve(url);
          return (imported ? '@import ' : 'url(') + quotedURL(imports.get(found) ?? found) + (imported ? '' : ')');
        });
        // The texts in it that are URLs without url() (css-images-4 §2.4); those of type() are none.
        const imageSet = new RegExp(`\\bimage-set\\((?:[^()"']|${string}|\\((?:[^()"']|${string})*\\))*\\)`, 'gi');
        const imageText = new RegExp(`\\btype\\([^)]*\\)|(${string})`, 'gi');
        const absoluteCSS = (text, resolve = resource) => absoluteURLs(text, resolve).replace(imageSet, set => set.replace(
          imageText, (whole, quoted) => quoted === undefined ? whole : quotedURL(resolve(unescaped(quoted.slice(1, -1))))));
        const styleText = text => text.replace(/<(?=\/style)/gi, '\\3c ');

        \#(sheets)
        // Attributes

        const holders = {
          href: ['a', 'area', 'link'], action: ['form'], formaction: ['button', 'input'], poster: ['video'],
          src: ['img', 'iframe', 'frame', 'embed', 'audio', 'video', 'source', 'track', 'input'], data: ['object'],
          cite: ['blockquote', 'q', 'del', 'ins'], longdesc: ['img', 'frame', 'iframe'],
          background: ['body', 'table', 'thead', 'tbody', 'tfoot', 'tr', 'td', 'th'],
        };
        const loaded = ['src', 'poster', 'data', 'background'], anchors = ['a', 'area'];
        const copyAttributes = (name, isHTML, copy) => {
          for (const item of Array.from(copy.attributes)) {
            const key = item.localName.toLowerCase();
            if (item.namespaceURI === null && key.startsWith('on')) {
              copy.removeAttributeNode(item);
            } else if (key === 'style' && item.namespaceURI === null) {
              item.value = absoluteCSS(item.value);
            } else if (key === 'href' && (!isHTML || item.namespaceURI !== null)) {
              if (isScriptURL(item.value)) copy.removeAttributeNode(item);
              // A fragment alone names a part of this document, whatever the base is.
              else if (name === 'a') item.value = absolute(item.value);
              else if (item.value.trim()[0] !== '#') item.value = resource(item.value);
            } else if (isHTML && key === 'ping' && anchors.includes(name)) {
              item.value = item.value.split(/\s+/).filter(url => url && !isScriptURL(url)).map(absolute).join(' ');
            } else if (isHTML && holders[key]?.includes(name)) {
              if (isScriptURL(item.value)) copy.removeAttributeNode(item);
              else if (loaded.includes(key)) item.value = resource(item.value, frameNames.includes(name));
              // An empty link leads nowhere, and an empty action to the document; an empty anchor to the base.
              else if (anchors.includes(name) || item.value.trim() !== '') item.value = absolute(item.value);
            } else if (!isHTML && ['to', 'from', 'by', 'values'].includes(key) && item.value.split(';').some(isScriptURL)) {
              copy.removeAttributeNode(item);
            } else if (!isHTML && item.value.includes('url(')) {
              item.value = absoluteCSS(item.value);
            }
          }
        };
        const setFlag = (copy, name, isSet) => isSet ? copy.setAttribute(name, '') : copy.removeAttribute(name);

        // Elements

        const pictureOf = (source, type = 'image/png') => {
          try {
            if (source instanceof HTMLCanvasElement) return source.toDataURL(type);
            const canvas = makeElement(document, 'canvas');
            canvas.width = source.naturalWidth || source.videoWidth;
            canvas.height = source.naturalHeight || source.videoHeight;
            if (!canvas.width || !canvas.height) return null;
            canvas.getContext('2d').drawImage(source, 0, 0);
            return canvas.toDataURL(type);
          } catch {
            return null;
          }
        };
        \#(canvases)
        // What stands above all else does so by scripts alone: open popovers and modal dialogs are written with their
        // places, and with the backdrop as a shadow.
        const raised = ['position', 'inset', 'margin', 'box-sizing', 'width', 'height', 'max-width', 'max-height',
          'overflow', 'padding', 'border', 'transform', 'translate', 'scale', 'rotate', 'color', 'background', 'filter',
          'clip-path'];
        const isRaised = (element, name) => {
          try {
            return matches(element, ':popover-open') || (name === 'dialog' && matches(element, ':modal'));
          } catch {
            return false;
          }
        };
        // The box that places count from in the copy, where it is not the page's: that of an ancestor which is moved, filtered,
        // or kept apart (css-transforms-2 §2, filter-effects-1 §5, css-contain-2 §3).
        const holderOf = element => {
          const above = at => at.assignedSlot ?? parentNode(at)?.host ?? parentNode(at);
          for (let at = above(element); at && nodeType(at) === 1 && at !== root; at = above(at)) {
            const style = getComputedStyle(at);
            const isMoved = ['transform', 'translate', 'scale', 'rotate', 'perspective', 'filter', 'backdropFilter']
              .some(name => (style[name] ?? 'none') !== 'none');
            if (isMoved || /transform|translate|scale|rotate|perspective|filter/.test(style.willChange)
              || /paint|layout|strict|content/.test(style.contain)) return at;
          }
          return null;
        };
        // Only where it is no larger and no smaller for that.
        const placeWithin = (holder, computed) => {
          const box = holder.getBoundingClientRect();
          if (Math.abs(box.width - holder.offsetWidth) >= 1 || Math.abs(box.height - holder.offsetHeight) >= 1) return [];
          const left = parseFloat(computed.left) - box.left - holder.clientLeft + holder.scrollLeft;
          const top = parseFloat(computed.top) - box.top - holder.clientTop + holder.scrollTop;
          return Number.isNaN(left + top) ? []
            : [`inset:${top}px auto auto ${left}px !important`, 'max-width:none !important', 'max-height:none !important'];
        };
        const raise = (element, copy) => {
          const computed = getComputedStyle(element), backdrop = getComputedStyle(element, '::backdrop').backgroundColor;
          const styles = raised.map(name => `${name}:${computed.getPropertyValue(name)}`);
          for (const name of ['display', 'opacity', 'visibility'])
            styles.push(`${name}:${computed.getPropertyValue(name)} !important`);
          styles.push('z-index:2147483647');
          const holder = holderOf(element);
          if (holder) styles.push(...placeWithin(holder, computed));
          if (backdrop !== 'transparent' && !/^rgba\(.*, 0\)$/.test(backdrop)) {
            const shadow = computed.boxShadow === 'none' ? '' : computed.boxShadow + ',';
            styles.push(`box-shadow:${shadow}0 0 0 200vmax ${backdrop}`);
          }
          copy.setAttribute('style', (copy.hasAttribute('style') ? copy.getAttribute('style') + ';' : '')
            + absoluteCSS(styles.join(';')));
        };
        // One of several has a density, by which its own size is another one than its file's (HTML, density-corrected natural
        // size). What styles say of its size goes on to count before the attribute.
        const keepSize = (element, copy) => {
          if (!attribute(element, 'srcset') && !(parentNode(element) instanceof HTMLPictureElement)) return;
          if (copy.hasAttribute('width') || copy.hasAttribute('height')) return;
          const style = getComputedStyle(element), width = parseFloat(style.width);
          const sides = ['paddingLeft', 'paddingRight', 'borderLeftWidth', 'borderRightWidth'];
          const edges = style.boxSizing === 'border-box' ? sides.reduce((sum, name) => sum + parseFloat(style[name]), 0) : 0;
          if (Math.abs(width - edges - element.naturalWidth) < 1) copy.setAttribute('width', width);
        };
        const image = (element, copy) => {
          const written = attribute(element, 'src')?.trim(), later = attribute(element, 'data-src')?.trim();
          const isLoaded = element.complete && element.naturalWidth > 0 && element.currentSrc;
          const url = isLoaded ? element.currentSrc : resource(written || later || '');
          if (url && !isScriptURL(url)) copy.setAttribute('src', url);
          if (isLoaded) keepSize(element, copy);
          for (const name of ['srcset', 'sizes', 'loading']) copy.removeAttribute(name);
          if (isLoaded && url.startsWith('blob:')) blobImages.set(url, element);
        };
        // The frame that is seen; before the first one that is the poster.
        const video = (element, copy) => {
          if (element.readyState < 2 || (copy.getAttribute('poster')?.trim() && element.currentTime === 0)) return;
          const picture = pictureOf(element, 'image/jpeg');
          if (picture) copy.setAttribute('poster', picture);
        };
        // What is shown as dots, without being a password to the browser.
        const isMasked = element => !['', 'none'].includes(getComputedStyle(element).webkitTextSecurity ?? '');
        const isEditable = getter(HTMLElement, 'isContentEditable');
        const isEdited = node => node instanceof HTMLElement && isEditable(node);
        const input = (element, copy) => {
          const type = element.type;
          if (type === 'checkbox' || type === 'radio') setFlag(copy, 'checked', element.checked);
          else if (type === 'password' || isMasked(element)) copy.removeAttribute('value');
          else if (type !== 'file' && (element.value !== '' || copy.hasAttribute('value')))
            copy.setAttribute('value', element.value);
        };
        \#(frames)
        const unwantedLinks = ['preload', 'modulepreload', 'prefetch', 'preconnect', 'dns-prefetch'];
        const unwantedMetas = ['content-security-policy', 'content-security-policy-report-only', 'refresh',
          'content-type'];
        const linkIsWanted = (element, copy) => {
          const tokens = (attribute(element, 'rel') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
          const wanted = tokens.filter(name => !unwantedLinks.includes(name));
          if (wanted.length === 0 && tokens.length > 0) return false;
          const sheet = element.sheet, isAlternate = wanted.includes('alternate') && wanted.includes('stylesheet');
          // An empty link leads nowhere, whatever the base is.
          const written = copy.getAttribute('href') ?? '', url = written.trim() === '' ? written : asked(written);
          if (wanted.includes('stylesheet') && isBlocked(url)) return false;
          if (wanted.includes('stylesheet') && url !== written) copy.setAttribute('href', url);
          if (wanted.length < tokens.length) copy.setAttribute('rel', wanted.join(' '));
          // What has come was what it should be. A redirect is written as another sheet, which names this one.
          if (sheet) copy.removeAttribute('integrity');
          if (sheet) keepMedia(sheet, element, copy);
          if (sheet && sheet.disabled && !isAlternate) copy.setAttribute('disabled', '');
          // Sheets without a charset have the document's, which is UTF-8 from now on (css-syntax-3 §3.2).
          if (wanted.includes('stylesheet') && encoding !== 'UTF-8' && !copy.hasAttribute('charset'))
            copy.setAttribute('charset', encoding);
          return true;
        };
        // Of the policies that a document of https has, this one is kept: without it the browser asks for no style sheet that
        // is named by http (https://www.w3.org/TR/upgrade-insecure-requests/).
        const upgrade = 'upgrade-insecure-requests', policy = 'Content-Security-Policy';
        const isSecure = location.protocol === 'https:';
        const saysUpgrade = element => attribute(element, 'http-equiv')?.toLowerCase() === policy.toLowerCase()
          && /(?:^|[;,])\s*upgrade-insecure-requests(?=[\s;,]|$)/i.test(attribute(element, 'content') ?? '');
        const upgradeMeta = () => {
          const meta = makeElement(inert, 'meta');
          meta.setAttribute('http-equiv', policy);
          meta.setAttribute('content', upgrade);
          return meta;
        };
        const isUnwantedMeta = element =>
          attribute(element, 'charset') !== null
          || unwantedMetas.includes((attribute(element, 'http-equiv') ?? '').trim().toLowerCase());

        // The copy of an element; null where it is left out. `inside` says whose children become its own.
        const elementCopy = (element, inBody) => {
          const name = localName(element), isHTML = namespaceOf(element) === html;
          if (name === 'script' && (isHTML || namespaceOf(element) === svg)) {
            scripts += 1;
            return null;
          }
          const parent = parentNode(element);
          // Chromium says with it that XSLT is to go.
          if (isHTML && name === 'xslt-warning-banner') return null;
          if (isHTML && isSecure && name === 'meta' && saysUpgrade(element)) return { node: upgradeMeta(), inside: null };
          if (isHTML && (name === 'noscript' || name === 'base' || (name === 'meta' && isUnwantedMeta(element)))) return null;
          if (isHTML && name === 'source' && parent instanceof HTMLPictureElement) return null;
          if (isHTML && name === 'canvas') return { node: canvasCopy(element), inside: null };
          // The copy has the same attributes, and its style would hold for both.
          const hasStyle = !isStyleRefused(element);
          const copy = isHTML && name === 'plaintext' ? renamed(inert, element)
            : isGuarded && isHTML && !isXML && frameNames.includes(name) ? unguarded(element) : writable(element);
          if (!hasStyle) copy.removeAttribute('style');
          copyAttributes(name, isHTML, copy);
          addStates(element, copy);
          if (name === 'style' && namespaceOf(element) === svg) {
            append(copy, makeText(inert, absoluteCSS(styleContent(element, copy))));
            return { node: copy, inside: null };
          }
          if (!isHTML) return { node: copy, inside: element };
          if (inBody && (name === 'style' || name === 'link')) bodyHasSheets = true;
          if ((name === 'dialog' || copy.hasAttribute('popover')) && isRaised(element, name)) raise(element, copy);
          switch (name) {
          case 'img': image(element, copy); break;
          case 'video': video(element, copy); break;
          case 'input': input(element, copy); break;
          case 'option': setFlag(copy, 'selected', element.selected); break;
          case 'select': if (isUnchosen(element)) unchosen.add(copy); break;
          case 'iframe': case 'frame': case 'object': case 'embed': frame(element, copy, name); break;
          case 'link': {
            const style = blobStyle(element) ?? refusedStyle(element);
            if (style) return { node: style, inside: null };
            if (!linkIsWanted(element, copy)) return null;
            break;
          }
          case 'style':
            append(copy, makeText(inert, styleText(absoluteCSS(styleContent(element, copy)))));
            return { node: copy, inside: null };
          case 'textarea':
            if (!isMasked(element))
              append(copy, makeText(inert, (!isXML && element.value[0] === '\n' ? '\n' : '') + element.value));
            return { node: copy, inside: null };
          case 'template':
            copy.removeAttribute('shadowrootmode');
            return { node: copy, inside: element.content, into: copy.content };
          case 'pre': case 'listing': case 'plaintext':
            // The parser of HTML drops a first line feed.
            if (!isXML && textOf(element)[0] === '\n' && firstChild(element) instanceof Text)
              append(copy, makeText(inert, '\n'));
            break;
          case 'head': if (parent === root) headCopy = copy; break;
          case 'body': if (parent === root) bodyCopy = copy; break;
          }
          return { node: copy, inside: element };
        };
        const shadowCopy = (shadow, pending) => {
          const copy = makeElement(inert, 'template');
          copy.setAttribute('shadowrootmode', shadow.mode === 'closed' ? 'closed' : 'open');
          if (shadow.delegatesFocus) copy.setAttribute('shadowrootdelegatesfocus', '');
          if (shadow.clonable) copy.setAttribute('shadowrootclonable', '');
          if (shadow.serializable) copy.setAttribute('shadowrootserializable', '');
          pending.push([shadow, copy.content, false, adoptedStyles(shadow)]);
          return copy;
        };
        const fill = (from, to) => {
          const pending = [[from, to, false, []]];
          while (pending.length > 0) {
            const [source, target, inBody, styles] = pending.pop();
            const isSecret = isEdited(source) && isMasked(source);
            for (let child = firstChild(source); child; child = nextSibling(child)) {
              const type = nodeType(child);
              if (isSecret && (type === 3 || type === 4)) continue;
              // As a part of a text it is written with what its end would be in it.
              if (type === 4) append(target, makeText(inert, child.data));
              else if (type === 3 || (type === 8 && !unwritableComment.test(child.data))) {
                append(target, importNode(inert, child, false));
              } else if (type === 1) {
                const shadow = namespaceOf(child) === html ? shadowOf(child) : null;
                if (shadow) keepStates(shadow);
                const copy = elementCopy(child, inBody);
                if (!copy) continue;
                append(target, copy.node);
                if (shadow) append(copy.node, shadowCopy(shadow, pending));
                if (copy.inside)
                  pending.push([copy.inside, copy.into ?? copy.node, inBody || localName(child) === 'body', []]);
              }
            }
            for (const style of styles) append(target, style);
            if (unchosen.has(target)) append(target, noChoice());
          }
        };

        \#(states)
        \#(cleaning)
        \#(document)
        \#(blobs)
        return {
          mark: (element, kind, value, type, isQuirky) => { marks.set(element, { kind, value, type, isQuirky }); },
          block,
          shadow: root => { closedRoots.set(hostOf(root), root); },
          unread: async () => {
            const placed = (await unreadCanvases()).map(canvas => [canvas, contentPlace(canvas)]).filter(pair => pair[1]);
            unread = placed.map(pair => pair[0]);
            return placed.map(pair => pair[1]);
          },
          show, showAll, settle,
          finish: text => finished(text),
          take: (index, picture) => { canvasPictures.set(unread[index], picture); },
          run: async isUpgraded => {
            const result = { contentType, url: ownURL, title: getter(Document, 'title')(document), scripts: 0 };
            if (contentType !== 'text/html' && !isXML) return result;
            if (!root) return { ...result, markup: '', isEmpty: true };
            await readObjects();
            const made = markup(isUpgraded), text = isGuarded ? made.toWellFormed() : settled(made);
            if (text === null) return { ...result, isUnwritable: true };
            Object.assign(result, { scripts, isQuirky: isQuirky() });
            if (isGuarded) return { ...result, unsettled: text, given: [Array.from(contents), Array.from(sheets), errors] };
            return { ...result, markup: await finished(text) };
          },
        };
        })
        """#
}
