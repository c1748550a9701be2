// The page /session/restore: a session that comes with the page's address. Its entries are /session/restore#N, and where
// they lead is in the state of the browser's own list, which no address can set. Nothing is loaded without a click.

import { isPage, layOut, mostEntries, onReturn, say } from './backforward.js';

const button = document.getElementById('restore');
const list = document.getElementById('entries');

/** What is wrong with a session, for its reader. */
class Refusal extends Error {}

/** Loads the page of the entry that is shown, if it is one. */
function arrive() {
  const target = history.state?.target;
  if (!isPage(target)) return false;
  location.replace(target);
  return true;
}

/** The text behind `name=` in the fragment, or in the query; null without one. */
function asked() {
  for (const part of [location.hash.slice(1), location.search.slice(1)]) {
    for (const name of ['session', 'history']) {
      if (part.startsWith(`${name}=`)) return part.slice(name.length + 1);
      const found = part.split('&').find((piece) => piece.startsWith(`${name}=`));
      if (found) return found.slice(name.length + 1);
    }
  }
  return null;
}

function texts(value, name) {
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) {
    throw new Refusal(`'${name}' is a list of texts.`);
  }
  return value;
}

/** The entry that is shown, where a session counts it from the last one: 0 or less. */
function fromLast(value, name, count) {
  if (value === undefined) return count - 1;
  if (!Number.isInteger(value)) throw new Refusal(`'${name}' is a number.`);
  if (value > 0 || value <= -count) throw new Refusal(`'${name}' leads outside of the list.`);
  return count - 1 + value;
}

/** Reads a session in one of its three forms. */
function read(text) {
  let value;
  try {
    value = JSON.parse(decodeURIComponent(text));
  } catch {
    throw new Refusal('The session in the address is not JSON in percent-encoding.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Refusal('A session is an object.');
  let session;
  if ('history' in value) {
    const urls = texts(value.history, 'history');
    session = { urls, titles: [], current: fromLast(value.currentPage, 'currentPage', urls.length) };
  } else if ('urls' in value) {
    const urls = texts(value.urls, 'urls');
    session = { urls, titles: texts(value.titles ?? [], 'titles'), current: fromLast(value.offset, 'offset', urls.length) };
  } else {
    if (!Array.isArray(value.entries)) throw new Refusal("A session has 'entries', 'history' or 'urls'.");
    const urls = texts(value.entries.map((entry) => entry?.url), 'url');
    const titles = value.entries.map((entry) => (typeof entry.title === 'string' ? entry.title : ''));
    session = { urls, titles, current: value.current ?? urls.length - 1 };
  }
  check(session);
  return session;
}

function check({ urls, current }) {
  if (urls.length === 0) throw new Refusal('The session has no entry.');
  if (urls.length > mostEntries) {
    throw new Refusal(`The session has ${urls.length} entries; at most ${mostEntries} can be restored.`);
  }
  if (!Number.isInteger(current) || current < 0 || current >= urls.length) {
    throw new Refusal("'current' leads outside of the list.");
  }
  const other = urls.find((url) => !isPage(url));
  if (other !== undefined) throw new Refusal(`Only http and https URLs can be restored, not ${other.slice(0, 200)}`);
}

function show({ urls, titles, current }) {
  list.replaceChildren(
    ...urls.map((url, number) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = url;
      link.rel = 'noreferrer';
      // As the browser reads it: a host that only looks like another one shows as what it is.
      link.textContent = titles[number] || link.href;
      item.append(link);
      const place = document.createElement('span');
      place.className = 'url';
      place.textContent = link.href;
      if (titles[number]) item.append(place);
      if (number === current) item.setAttribute('aria-current', 'page');
      return item;
    }),
  );
}

/** The session that the button restores; null for none. */
let offered = null;

function begin() {
  if (!offered) return;
  const { urls, current } = offered;
  button.disabled = true;
  say('Restoring …');
  const entries = urls.map((url, number) => ({ url: `/session/restore#${number}`, state: { target: url } }));
  layOut(entries, current, arrive);
}

/** Shows what the address offers, or goes where the entry leads. */
function open() {
  if (arrive()) return;
  offered = null;
  list.replaceChildren();
  button.disabled = true;
  const text = asked();
  if (text === null) return say('No session is in the address: it stands behind #session=, as JSON in percent-encoding.');
  try {
    offered = read(text);
    show(offered);
    say(`${offered.urls.length === 1 ? '1 page' : `${offered.urls.length} pages`}. Restore them if you trust who gave you this address.`);
    button.disabled = false;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say(error.message);
  }
}

button.addEventListener('click', begin);
addEventListener('hashchange', open);
onReturn(open);
open();
