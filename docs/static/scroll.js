// Tables, formulas and pictures that are wider than the page scroll by keyboard as well.
document.addEventListener("DOMContentLoaded", () => {
  for (const wide of document.querySelectorAll(".table-wrapper, .math-wrapper, :is(p, figure):has(> img)")) if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
});
