// j and k go from turn to turn.
const turns = [...document.querySelectorAll("article.turn")];
const typing = (element) => element.closest("input, textarea, select, [contenteditable]") !== null;

function go(by) {
  const at = turns.indexOf(document.activeElement.closest("article.turn"));
  const next = turns[at < 0 ? (by > 0 ? 0 : -1) : at + by];
  if (next) { next.focus({ preventScroll: true }); next.scrollIntoView({ block: "start" }); }
}

for (const note of document.querySelectorAll(".keys-note")) note.hidden = turns.length < 2;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "j") go(1);
  if (event.key === "k") go(-1);
});
