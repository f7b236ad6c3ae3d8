// Lets one choose a file where the form has a field for its data URI.
const field = document.querySelector('textarea[data-file]');
const file = document.createElement('input');
file.type = 'file';
file.accept = field.dataset.file;
const label = document.createElement('label');
label.append('Logo from a file ', file);
file.addEventListener('change', () => {
  const reader = new FileReader();
  reader.addEventListener('load', () => (field.value = reader.result));
  if (file.files.length > 0) reader.readAsDataURL(file.files[0]);
});
field.before(label);
