extension FreezeScript {
    /// The part of the script that makes pictures of canvases, of which it says what can't be read.
    static let canvases =
        #"""
        // Canvases

        const placed = ['display', 'position', 'inset', 'float', 'box-sizing', 'width', 'height', 'margin', 'padding',
          'border-width', 'border-style', 'border-color', 'border-radius', 'outline', 'outline-offset', 'box-shadow', 'z-index',
          'transform', 'transform-origin', 'translate', 'scale', 'rotate', 'opacity', 'filter', 'clip-path', 'mix-blend-mode',
          'vertical-align', 'object-fit', 'object-position', 'image-rendering', 'background', 'visibility', 'flex', 'order',
          'align-self', 'justify-self', 'grid-area'];
        const canvasPictures = new Map(), blanks = new Map();
        const blank = (width, height) => {
          const key = width + 'x' + height;
          if (!blanks.has(key)) {
            const canvas = makeElement(document, 'canvas');
            canvas.width = width;
            canvas.height = height;
            blanks.set(key, pictureOf(canvas));
          }
          return blanks.get(key);
        };
        const isEmpty = (canvas, picture) => !picture || picture === blank(canvas.width, canvas.height);
        // A canvas with another context than 2d, whose picture is gone once it has been shown (WebGL 1.0 §2.2).
        const isDrawnAnew = canvas => {
          try {
            return canvas.getContext('2d') === null;
          } catch {
            return false;
          }
        };
        // The elements of these names, those in shadow trees too.
        const allOf = (...names) => {
          const found = [], pending = [document];
          while (pending.length > 0) {
            const walker = makeWalker(document, pending.pop(), NodeFilter.SHOW_ELEMENT);
            for (let element = walker.currentNode; element; element = walker.nextNode()) {
              if (nodeType(element) !== 1 || namespaceOf(element) !== html) continue;
              if (names.includes(localName(element))) found.push(element);
              const shadow = shadowOf(element);
              if (shadow) pending.push(shadow);
            }
          }
          return found;
        };
        // Those that no script can read, though something may be seen there. Between a frame's drawing and its showing
        // what is drawn for every frame can be read.
        const unreadCanvases = async () => {
          const canvases = allOf('canvas').filter(canvas => canvas.width > 0 && canvas.height > 0);
          const tainted = canvases.filter(canvas => pictureOf(canvas) === null);
          const drawn = canvases.filter(canvas =>
            !tainted.includes(canvas) && isEmpty(canvas, pictureOf(canvas)) && isDrawnAnew(canvas));
          if (drawn.length > 0) {
            await new Promise(resolve => {
              setTimeout(resolve, 1000);
              requestAnimationFrame(() => {
                for (const canvas of drawn) {
                  const picture = pictureOf(canvas);
                  if (!isEmpty(canvas, picture)) canvasPictures.set(canvas, picture);
                }
                resolve();
              });
            });
          }
          return [...tainted, ...drawn.filter(canvas => !canvasPictures.has(canvas))];
        };
        let unread = [], alone = null, shown = null, style = null;
        // The place of what a canvas shows; null where it is not seen, or not as its style says: turned, or made smaller.
        const contentPlace = canvas => {
          const box = canvas.getBoundingClientRect(), computed = getComputedStyle(canvas);
          const inner = side => parseFloat(computed['padding-' + side]) + parseFloat(computed[`border-${side}-width`]);
          const [left, top] = [inner('left'), inner('top')];
          const width = box.width - left - inner('right'), height = box.height - top - inner('bottom');
          const isAsStyled = Math.abs(box.width - canvas.offsetWidth) < 1 && Math.abs(box.height - canvas.offsetHeight) < 1;
          if (!isAsStyled || width < 1 || height < 1 || computed.visibility !== 'visible') return null;
          return { x: box.left + left + scrollX, y: box.top + top + scrollY, width, height };
        };
        const adopt = sheets =>
          Object.getOwnPropertyDescriptor(Document.prototype, 'adoptedStyleSheets').set.call(document, sheets);
        const showAll = () => {
          if (!shown) return;
          if (style === null) shown.removeAttribute('style');
          else shown.setAttribute('style', style);
          adopt(Array.from(adoptedOf(document)).filter(sheet => sheet !== alone));
          shown = null;
        };
        const show = index => {
          showAll();
          alone = new CSSStyleSheet();
          alone.replaceSync('*, *::before, *::after, *::backdrop { visibility: hidden !important; '
            + 'transition: none !important } html, body { background: transparent !important }');
          adopt([...adoptedOf(document), alone]);
          shown = unread[index];
          style = attribute(shown, 'style');
          for (const [name, value] of [['visibility', 'visible'], ['background', 'transparent']])
            shown.style.setProperty(name, value, 'important');
        };
        // Without scripts a canvas shows what stands inside it. What selectors by name gave it is written out.
        const canvasCopy = element => {
          const copy = makeElement(inert, 'img');
          copyQuiet(element, copy);
          copyAttributes('canvas', true, copy);
          if (!copy.hasAttribute('alt')) copy.setAttribute('alt', '');
          copy.setAttribute('width', element.width);
          copy.setAttribute('height', element.height);
          const computed = getComputedStyle(element);
          copy.style.cssText = placed.map(name => `${name}:${computed.getPropertyValue(name)}`).join(';')
            + ';' + (copy.getAttribute('style') ?? '');
          const picture = canvasPictures.get(element) ?? pictureOf(element);
          if (picture) copy.setAttribute('src', picture);
          return copy;
        };
        """#
}
