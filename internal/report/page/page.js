(function () {
  'use strict';
  var byId = document.getElementById.bind(document);
  var all = function (css, from) { return Array.from((from || document).querySelectorAll(css)); };
  var form = byId('filter'), q = byId('q'), shown = byId('shown'), boxes = all('input[name=s]');
  var cells = all('#grid td[data-i]').map(function (td) {
    return { td: td, part: byId('c' + td.dataset.i), key: td.dataset.k, status: td.dataset.s, on: true };
  });
  var rows = all('#grid tbody tr:not(.group)'), groups = all('#grid tr.group'), recipes = all('.recipe'), causes = all('.cause');

  function apply() {
    var words = q.value.toLowerCase().split(/\s+/).filter(Boolean);
    var want = new Set(boxes.filter(function (b) { return b.checked; }).map(function (b) { return b.value; }));
    var count = 0, on = new Set();
    cells.forEach(function (c) {
      c.on = want.has(c.status) && words.every(function (w) { return c.key.includes(w); });
      c.td.classList.toggle('off', !c.on);
      c.part.hidden = !c.on;
      if (c.on) { count++; on.add(c.td.dataset.i); }
    });
    rows.forEach(function (tr) { tr.hidden = !all('td[data-i]', tr).some(function (td) { return !td.classList.contains('off'); }); });
    groups.forEach(function (tr) { tr.hidden = all('tr:not(.group)', tr.parentNode).every(function (row) { return row.hidden; }); });
    recipes.forEach(function (s) { s.hidden = !all('.cell', s).some(function (d) { return !d.hidden; }); });
    causes.forEach(function (a) { a.hidden = !a.dataset.ids.trim().split(' ').some(function (i) { return on.has(i); }); });
    shown.textContent = count + ' of ' + cells.length + ' cells shown';
  }

  // A link into a folded cell opens it, also when the filter hides it.
  function follow(hash) {
    var part = /^#c\d+$/.test(hash) && byId(hash.slice(1));
    if (!part) { return; }
    if (part.hidden) { form.reset(); apply(); }
    part.open = true;
    part.scrollIntoView();
    part.querySelector('summary').focus({ preventScroll: true });
  }

  form.addEventListener('input', apply);
  form.addEventListener('submit', function (e) { e.preventDefault(); });
  form.addEventListener('reset', function () { setTimeout(apply); });
  document.addEventListener('click', function (e) {
    var link = e.target.closest('a[href^="#c"]');
    if (link) { setTimeout(function () { follow(link.getAttribute('href')); }); return; }
    var button = e.target.closest('button.tocopy');
    if (!button) { return; }
    navigator.clipboard.writeText(button.previousElementSibling.textContent).then(
      function () { button.textContent = 'Copied'; }, function () { button.textContent = 'Not copied'; });
  });
  window.addEventListener('hashchange', function () { follow(location.hash); });
  if (navigator.clipboard) {
    all('code.copy').forEach(function (c) {
      c.insertAdjacentHTML('afterend', ' <button type="button" class="tocopy">Copy</button>');
    });
  }
  form.hidden = false;
  apply();
  follow(location.hash);
}());
