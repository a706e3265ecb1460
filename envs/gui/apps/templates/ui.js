// Opens and closes the dialogues that ask before something is done. Nothing else on the pages needs a script.
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-dialog]");
  if (opener) document.getElementById(opener.dataset.dialog).showModal();
  const closer = event.target.closest("[data-close]");
  if (closer) closer.closest("dialog").close();
});
