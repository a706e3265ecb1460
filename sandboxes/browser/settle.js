// Ends what moves in a document, its shadow trees and the documents inside it. Runs in a world that documents do not see.
globalThis.cairnSettle = (() => {
  const PAST_S = 1000; // of a drawing's own clock: what has begun in it is over by then
  const shadowOf = Object.getOwnPropertyDescriptor(Element.prototype, "shadowRoot").get;
  const DRAWN = "animate, animateMotion, animateTransform, set";

  function end(animation) {
    const goesByTime = String(animation.timeline) === "[object DocumentTimeline]"; // else by what is scrolled
    if (!goesByTime || animation.playState !== "running") return;
    try {
      animation.finish();
    } catch {
      animation.cancel(); // it has no end
    }
  }

  function pass(drawing) {
    const past = drawing.animationsPaused() ? drawing.getCurrentTime() : 0;
    drawing.pauseAnimations();
    drawing.setCurrentTime(past + PAST_S);
  }

  function settleTree(root, { getAnimations }, { querySelectorAll }) {
    getAnimations.call(root).forEach(end);
    const drawings = new Set();
    for (const each of querySelectorAll.call(root, DRAWN)) {
      let drawing = each.ownerSVGElement;
      while (drawing?.ownerSVGElement) drawing = drawing.ownerSVGElement;
      if (drawing) drawings.add(drawing);
    }
    drawings.forEach(pass);
    for (const each of querySelectorAll.call(root, "*")) {
      const shadow = shadowOf.call(each);
      if (shadow) settleTree(shadow, ShadowRoot.prototype, DocumentFragment.prototype);
    }
  }

  return function settle(shown = window) {
    settleTree(shown.document, Document.prototype, Document.prototype);
    for (let at = 0; at < shown.length; at++) {
      try {
        settle(shown[at]);
      } catch {} // it is of another site
    }
  };
})();
