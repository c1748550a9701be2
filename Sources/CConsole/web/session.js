// The page of a saved session, /sessions/NAME: its entries are /sessions/NAME/N, which redirect to the session's pages.

import { layOut, mostEntries, onReturn, say } from './backforward.js';

const { name, count, current, restore } = document.querySelector('main').dataset;
const base = `/sessions/${name}`;
const button = document.getElementById('restore');

/** Loads the page of the entry that is shown; the page of the session itself stays. */
function arrive() {
  if (location.pathname.startsWith(`${base}/`)) location.replace(location.pathname);
}

function begin() {
  button.disabled = true;
  say('Restoring …');
  const total = Math.min(Number(count), mostEntries);
  const entries = Array.from({ length: total }, (_, number) => ({ url: `${base}/${number}`, state: null }));
  layOut(entries, Number(current), arrive);
}

button.addEventListener('click', begin, { once: true });
onReturn(arrive);
if (restore === 'now') begin();
else button.disabled = false;
