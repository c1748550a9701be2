/// The script that scrolls a page and tells how far it is, in an isolated world.
///
/// Its value is an object: `step()` scrolls by a viewport's height, `isShown()` tells whether the page has seen that,
/// `imagesAreComplete()` tells of those in view, `state()` where it stands, `top()` scrolls back.
enum ScrollScript {
    static let source =
        #"""
        (() => {
        'use strict';
        const documentElement = Object.getOwnPropertyDescriptor(Document.prototype, 'documentElement').get;
        const scrolling = Object.getOwnPropertyDescriptor(Document.prototype, 'scrollingElement').get;
        const all = Document.prototype.querySelectorAll, first = Document.prototype.querySelector;
        const clips = element => ['hidden', 'clip'].includes(getComputedStyle(element).overflowY);
        const documentScrolls = () => {
          const element = scrolling.call(document), top = documentElement.call(document);
          return element && element.scrollHeight > innerHeight + 1
            && !(top && clips(top)) && !(element !== top && clips(element));
        };
        const largestInner = () => {
          let best = null, bestArea = 0;
          for (const element of all.call(document, '*')) {
            if (element.scrollHeight <= element.clientHeight + 1 || element.clientHeight < 50) continue;
            if (!['auto', 'scroll', 'overlay'].includes(getComputedStyle(element).overflowY)) continue;
            const area = element.clientWidth * element.clientHeight;
            if (area > bestArea) [best, bestArea] = [element, area];
          }
          return best;
        };
        // What scrolls is told to the page, and what comes into view is loaded, when the next picture of it is made.
        let isShown = true;
        const nextFrame = requestAnimationFrame;
        const awaitFrames = () => {
          isShown = false;
          nextFrame(() => nextFrame(() => { isShown = true }));
        };
        // What was found first is kept while it scrolls: a page that has grown goes on in the same place.
        let kept = null;
        const scroller = () => {
          if (documentScrolls()) return scrolling.call(document);
          if (kept?.isConnected && kept.scrollHeight > kept.clientHeight + 1) return kept;
          return kept = largestInner();
        };
        const heightOf = element => element === scrolling.call(document) ? innerHeight : element.clientHeight;
        const state = () => {
          const element = scroller();
          if (!element) return { top: 0, height: 0, isAtEnd: true };
          const height = element.scrollHeight;
          return {
            top: element.scrollTop, height, isAtEnd: element.scrollTop + heightOf(element) >= height - 1,
          };
        };
        return {
          state,
          step: () => {
            const element = scroller();
            element?.scrollTo({ top: element.scrollTop + heightOf(element), behavior: 'instant' });
            awaitFrames();
            return state();
          },
          top: () => {
            scroller()?.scrollTo({ top: 0, behavior: 'instant' });
            scrolling.call(document)?.scrollTo({ top: 0, behavior: 'instant' });
            awaitFrames();
          },
          isShown: () => isShown,
          imagesAreComplete: () => Array.from(all.call(document, 'img')).every(image => {
            if (image.complete) return true;
            const box = image.getBoundingClientRect();
            return box.bottom < 0 || box.right < 0 || box.top > innerHeight || box.left > innerWidth
              || (box.width === 0 && box.height === 0);
          }),
          has: selector => first.call(document, selector) !== null,
        };
        })()
        """#
}
