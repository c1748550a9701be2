extension FreezeScript {
    /// The part of the script that writes into styles and elements what scripts have brought about and the tree does
    /// not say: what selectors name that scripts alone bring about, where animations have come to, and that nothing of
    /// a list is chosen.
    static let states =
        #"""
        // What the tree does not say

        // The styles that elements have by scripts alone: names and values.
        const kept = new Map();
        const keepStyle = (element, names) => {
          const computed = getComputedStyle(element);
          if (!kept.has(element)) kept.set(element, new Map());
          for (const name of names) {
            const value = computed.getPropertyValue(name);
            if (value !== '') kept.get(element).set(name, value);
          }
        };
        const addStates = (element, copy) => {
          const styles = kept.get(element);
          if (!styles) return;
          const written = copy.getAttribute('style') ?? '';
          copy.setAttribute('style', (written ? written + ';' : '')
            + absoluteCSS(Array.from(styles, ([name, value]) => `${name}:${value} !important`).join(';')));
        };
        const inRoot = (scope, name, ...rest) =>
          (scope instanceof Document ? Document : ShadowRoot).prototype[name].apply(scope, rest);
        const sheetsOf = scope => scope instanceof Document ? getter(Document, 'styleSheets')(scope) : scope.styleSheets;

        // What scripts alone bring about, and selectors name: that a custom element is defined and its states, that a
        // popover or a modal dialog is open, that a box is neither checked nor not (HTML, pseudo-classes). Of the rules that
        // hold for other elements then: selectors and declarations.
        const isOfScripts = /:(?:defined|popover-open|modal|indeterminate)(?![\w-])|:state\(/i;
        const rulesOfSheets = new Map();
        const stateRules = sheet => {
          if (rulesOfSheets.has(sheet)) return rulesOfSheets.get(sheet);
          const found = [], pending = [[sheet, null]];
          while (pending.length > 0) {
            const [holder, outer] = pending.pop();
            let selector = outer;
            if (holder instanceof CSSStyleRule) {
              selector = outer ? holder.selectorText.replaceAll('&', `:is(${outer})`) : holder.selectorText;
            }
            if (selector && holder.style && isOfScripts.test(selector)) found.push([selector, Array.from(holder.style)]);
            try {
              const inner = holder instanceof CSSImportRule ? holder.styleSheet?.cssRules : holder.cssRules;
              for (const rule of inner ?? []) pending.push([rule, selector]);
            } catch {
              // A sheet of another origin, which no script may read.
            }
          }
          rulesOfSheets.set(sheet, found);
          return found;
        };
        const definedNames = scope => {
          const names = new Set();
          if (scope instanceof ShadowRoot) names.add(CSS.escape(localName(hostOf(scope))));
          for (const element of inRoot(scope, 'querySelectorAll', ':defined')) {
            if (namespaceOf(element) !== html) continue;
            if (localName(element).includes('-')) names.add(CSS.escape(localName(element)));
            else if (attribute(element, 'is') !== null) names.add('[is]');
          }
          return Array.from(names);
        };
        // The selector that holds in the copy for what this one holds for with scripts.
        const withoutScripts = (selector, names) => selector
          .replace(/:defined(?![\w-])/gi, names.length > 0 ? `$&:not(${names.join()})` : '$&')
          .replace(/:indeterminate(?![\w-])/gi, '$&:not([type=checkbox i])')
          .replace(/:(?:popover-open|modal)(?![\w-])|:state\([^()]*\)/gi, ':not(*)');
        const selectorsIn = list => {
          const found = [''];
          let depth = 0;
          for (const character of list) {
            depth += '(['.includes(character) ? 1 : ')]'.includes(character) ? -1 : 0;
            if (character === ',' && depth === 0) found.push('');
            else found[found.length - 1] += character;
          }
          return found.map(selector => selector.trim());
        };
        const matched = (scope, list) => {
          const found = new Set(inRoot(scope, 'querySelectorAll', list));
          if (!(scope instanceof ShadowRoot) || !list.includes(':host(')) return found;
          for (const selector of selectorsIn(list)) {
            const [, inner] = /^:host\((.*)\)$/s.exec(selector) ?? [];
            if (inner && matches(hostOf(scope), inner)) found.add(hostOf(scope));
          }
          return found;
        };
        const keepMatched = scope => {
          const rules = [...Array.from(sheetsOf(scope)), ...(adoptedOf(scope) ?? [])].flatMap(stateRules);
          if (rules.length === 0) return;
          const names = definedNames(scope);
          for (const [selector, properties] of rules) {
            try {
              const now = matched(scope, selector), later = matched(scope, withoutScripts(selector, names));
              for (const element of now) if (!later.has(element)) keepStyle(element, properties);
              for (const element of later) if (!now.has(element)) keepStyle(element, properties);
            } catch {
              // A selector that only its own place makes one.
            }
          }
        };

        // Animations of style sheets run again in the copy; those of scripts don't (Web Animations).
        const cssName = name => name === 'cssFloat' ? 'float' : name === 'cssOffset' ? 'offset'
          : name.startsWith('--') ? name : name.replace(/^webkit/, 'Webkit').replace(/[A-Z]/g, letter => '-' + letter.toLowerCase());
        const keepAnimations = scope => {
          for (const animation of inRoot(scope, 'getAnimations')) {
            if (animation instanceof CSSAnimation || animation instanceof CSSTransition) continue;
            const effect = animation.effect;
            if (!(effect instanceof KeyframeEffect) || !effect.target || effect.pseudoElement) continue;
            const names = effect.getKeyframes().flatMap(frame => Object.keys(frame))
              .filter(name => !['offset', 'computedOffset', 'easing', 'composite'].includes(name));
            keepStyle(effect.target, new Set(names.map(cssName)));
          }
        };
        const keepStates = scope => {
          keepMatched(scope);
          keepAnimations(scope);
        };

        // A list that shows one line shows its first where none is chosen, unless one without a text is (HTML, the
        // selectedness setting algorithm).
        const unchosen = new Set();
        const isUnchosen = element => !element.multiple && element.size <= 1 && element.selectedIndex === -1
          && element.options.length > 0;
        const noChoice = () => {
          const option = makeElement(inert, 'option');
          for (const name of ['selected', 'hidden']) option.setAttribute(name, '');
          return option;
        };

        """#
}
