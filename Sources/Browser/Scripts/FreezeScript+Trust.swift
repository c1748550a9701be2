extension FreezeScript {
    /// The part of the script that has leave to write markup, where the document asks for trusted types
    /// (https://w3c.github.io/trusted-types/).
    static let trust =
        #"""
        // Each world has policies of its own; those of the page are not asked.
        try {
          const same = text => text;
          trustedTypes.createPolicy('default', { createHTML: same, createScript: same, createScriptURL: same });
        } catch {
          // There is one from before, or the document names those that may be.
        }
        // Whether markup can't be parsed here, and some attributes of elements that load documents not be set.
        const isGuarded = (() => {
          try {
            new DOMParser().parseFromString('', 'text/html');
            return false;
          } catch {
            return true;
          }
        })();
        // Handlers of events are neither copied nor allowed.
        const copyQuiet = (element, copy) => {
          for (const item of Array.from(attributesOf(element)))
            if (!item.localName.toLowerCase().startsWith('on')) copy.setAttributeNS(item.namespaceURI, item.name, item.value);
        };
        // In markup an element of no namespace is the same, but none that loads anything.
        const unguarded = element => {
          const copy = makeInNamespace(inert, null, localName(element));
          copyQuiet(element, copy);
          return copy;
        };
        """#
}
