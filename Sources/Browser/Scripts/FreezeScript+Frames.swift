extension FreezeScript {
    /// The part of the script that writes what stands in the place of a frame's content.
    static let frames =
        #"""
        // Frames

        const modeOf = getter(Document, 'compatMode'), bodyOf = getter(Document, 'body');
        // Whether it is laid out in quirks mode, with something in it.
        const isQuirky = () => modeOf(document) === 'BackCompat' && bodyOf(document) !== null
          && firstChild(bodyOf(document)) !== null;
        // Whether what stands within an object is shown in its place.
        const showsFallback = element => {
          const range = new Range();
          range.selectNodeContents(element);
          return range.getClientRects().length > 0;
        };
        const frame = (element, copy, name) => {
          const mark = marks.get(element), place = name === 'object' ? 'data' : 'src';
          for (const gone of ['srcdoc', 'loading', 'csp']) copy.removeAttribute(gone);
          if (!mark || mark.kind === 'none') {
            const data = objectData.get(copy.getAttribute(place));
            if (data) return copy.setAttribute(place, data);
            const hasFailed = mark || copy.getAttribute(place) === nothing || (name === 'object' && showsFallback(element));
            for (const gone of hasFailed ? [place, 'type'] : []) copy.removeAttribute(gone);
            return;
          }
          // One that waits to be seen shows nothing yet, but names what it will show.
          if (mark.kind === 'blank' && /^https?:/i.test(copy.getAttribute(place) ?? '')) return;
          if (mark.kind === 'url') {
            copy.setAttribute(place, mark.value);
          // Read as HTML, XML becomes another document; and what `srcdoc` has is never in quirks mode. It may not be set
          // in XML that asks for trusted types.
          } else if (name === 'iframe' && mark.type === 'text/html' && !mark.isQuirky && !(isXML && isGuarded)) {
            copy.removeAttribute('src');
            copy.setAttribute('srcdoc', mark.value);
            contents.add(asRead(mark.value));
          } else {
            const url = `data:${mark.type};charset=utf-8,` + encodeURIComponent(mark.value.toWellFormed());
            copy.setAttribute(place, url);
            contents.add(url);
          }
        };

        """#
}
