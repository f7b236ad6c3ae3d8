// "All on this page" checks the boxes of a list, and shows whether all of them are. By delegation: the list may be exchanged.
document.addEventListener('change', ({ target }) => {
  const form = target.form;
  if (form?.dataset.selection === undefined) return;
  const { all } = form.elements;
  const boxes = [...form.querySelectorAll('tbody input[type=checkbox]')];
  if (target === all) boxes.forEach((box) => (box.checked = all.checked));
  const checked = boxes.filter((box) => box.checked).length;
  all.checked = checked === boxes.length;
  all.indeterminate = checked > 0 && !all.checked;
});
