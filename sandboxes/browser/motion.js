// Runs before all else in each document: what scripts animate is at its end at once, and nothing blinks or glides.
(() => {
  const { finish, cancel } = Animation.prototype, then = queueMicrotask;
  function end(animation) {
    const goesByTime = animation.timeline instanceof DocumentTimeline;  // else by what is scrolled
    if (!goesByTime || animation.playState !== "running") return;
    try { finish.call(animation) } catch { cancel.call(animation) }  // it has no end
  }
  for (const [kind, name] of [[Element, "animate"], [Animation, "play"], [Animation, "reverse"]]) {
    const begin = kind.prototype[name];
    kind.prototype[name] = function (...given) {
      const made = begin.apply(this, given);
      then(() => end(made ?? this));  // once somebody listens for it
      return made;
    };
  }
  const change = Document.prototype.startViewTransition;
  if (change) Document.prototype.startViewTransition = function (...given) {
    const made = change.apply(this, given);
    made.ready.catch(() => {});  // nothing is wrong
    made.skipTransition();
    return made;
  };
  const sheet = new CSSStyleSheet();  // a document's own policy may forbid <style>
  sheet.replaceSync("@view-transition { navigation: none } " +
    "*, *::before, *::after { scroll-behavior: auto !important; caret-color: transparent !important }");
  document.adoptedStyleSheets.push(sheet);
})();
