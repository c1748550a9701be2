// A browser's back and forward list, laid out anew: an entry for each page, the current one loaded, and each of the
// others when somebody goes there.

/** As many entries as browsers keep. */
export const mostEntries = 50;

/** Whether a text is the URL of a page: http or https. */
export function isPage(url) {
  if (typeof url !== 'string') return false;
  try {
    const { protocol, host } = new URL(url);
    return (protocol === 'http:' || protocol === 'https:') && host !== '';
  } catch {
    return false;
  }
}

/**
 * Lays the entries out, goes to the current one, and calls `arrive` there, and at each entry that is come to while this
 * document is still the entries'.
 *
 * @param {{url: string, state: object|null}[]} entries places of this origin
 */
export function layOut(entries, current, arrive) {
  const last = entries.length - 1;
  addEventListener('popstate', arrive);
  history.replaceState(entries[0].state, '', entries[0].url);
  for (const entry of entries.slice(1)) history.pushState(entry.state, '', entry.url);
  if (current === last) arrive();
  else history.go(current - last);
}

/** Calls `arrive` too where a document that was put aside is shown again. */
export function onReturn(arrive) {
  addEventListener('pageshow', (event) => {
    if (event.persisted) arrive();
  });
}

/** What the page says to its reader. */
export function say(text) {
  document.getElementById('message').textContent = text;
}
