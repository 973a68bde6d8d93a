"use strict";
// What scrolls is reached by the keyboard, too. The theme wraps tables after the page is loaded.
const reach = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    box.tabIndex = 0;
  }
};
addEventListener("load", reach);
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
