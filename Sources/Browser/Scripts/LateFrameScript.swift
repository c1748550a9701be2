/// The script that loads frames which wait until they are seen, in an isolated world.
///
/// Its value is an object: `load()` promises how many there were, once they are loaded, or 5 s later.
enum LateFrameScript {
    static let source =
        #"""
        (() => {
        'use strict';
        const all = Document.prototype.querySelectorAll, within = DocumentFragment.prototype.querySelectorAll;
        const shadowOf = Object.getOwnPropertyDescriptor(Element.prototype, 'shadowRoot').get;
        const frames = root => {
          const found = [];
          for (const element of (root === document ? all : within).call(root, '*')) {
            const shadow = shadowOf.call(element);
            if (shadow) found.push(...frames(shadow));
            if (element instanceof HTMLIFrameElement) found.push(element);
          }
          return found;
        };
        const waits = frame => frame.loading === 'lazy' && /^https?:/i.test(frame.src)
          && frame.contentDocument?.URL === 'about:blank';
        return {
          load: async () => {
            const late = frames(document).filter(waits);
            await Promise.all(late.map(frame => new Promise(resolve => {
              frame.addEventListener('load', resolve, { once: true });
              setTimeout(resolve, 5000);
              frame.loading = 'eager';
            })));
            return late.length;
          },
        };
        })()
        """#
}
