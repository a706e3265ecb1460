// Asks for the live part of a page every few seconds while its run goes on, and puts it in place when it is new.
const WAIT_MS = 3000;
const place = document.querySelector("[data-live]");
const note = document.querySelector("[data-live-note]");
let etag = "";

async function look() {
  if (document.hidden) return true;
  const answer = await fetch(place.dataset.live, { cache: "no-store", headers: etag ? { "If-None-Match": etag } : {} });
  if (answer.status === 304) return true;
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  etag = answer.headers.get("ETag") ?? "";
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const open = [...place.querySelectorAll("details")].map((each) => each.open);
  place.replaceChildren(...fresh.body.childNodes);
  place.querySelectorAll("details").forEach((each, i) => { each.open = open[i] ?? false; });
  note.textContent = `Live, as of ${new Date().toLocaleTimeString()}.`;
  return place.querySelector("[data-more]") !== null;
}

async function follow() {
  try {
    if (!(await look())) { note.textContent = "The run is over."; return; }
  } catch {
    note.textContent = "The viewer does not answer; trying again.";
  }
  setTimeout(follow, WAIT_MS);
}

if (place) setTimeout(follow, WAIT_MS);
