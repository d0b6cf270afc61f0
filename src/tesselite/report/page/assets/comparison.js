// Several runs side by side. What is compared was computed in Python; here it is only drawn.
"use strict";
Page.comparison = async () => {
  Page.by("comparison-card").hidden = !Page.document.comparison;
};
