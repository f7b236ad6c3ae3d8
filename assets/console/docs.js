/** Lists the types of an introspection result whose name or fields hold the search text. */
export function showDocs(container, schema, search) {
  const roots = [schema.queryType?.name, schema.mutationType?.name];
  const rank = (type) => (roots.includes(type.name) ? roots.indexOf(type.name) : roots.length);
  const wanted = search.trim().toLowerCase();
  const types = schema.types
    .filter((type) => !type.name.startsWith('__') && type.kind !== 'SCALAR')
    .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
  const described = types.flatMap((type) => describe(type, wanted));
  if (described.length === 0) described.push(element('p', { className: 'hint' }, 'Nothing is named like that.'));
  container.replaceChildren(...described);
}

function describe(type, wanted) {
  const isWanted = (text) => text.toLowerCase().includes(wanted);
  const members = [...(type.fields ?? []), ...(type.inputFields ?? []), ...(type.enumValues ?? [])];
  const shown = isWanted(type.name) ? members : members.filter((member) => isWanted(member.name));
  if (shown.length === 0) return [];
  return [
    element('h3', { id: anchorOf(type.name) }, type.name),
    ...(type.description ? [element('p', { className: 'hint' }, type.description)] : []),
    element('ul', {}, ...shown.map(describeMember)),
  ];
}

function describeMember(member) {
  const args = (member.args ?? []).flatMap((arg, index) => [index > 0 ? ', ' : '', `${arg.name}: `, typeLink(arg.type)]);
  const rest = element('span', {}, ...(args.length > 0 ? ['(', ...args, ')'] : []));
  if (member.type) rest.append(': ', typeLink(member.type));
  return element('li', { title: member.description ?? '' }, member.name, rest);
}

/** A type as it is written, with a way to where it is described. */
function typeLink(type) {
  const text = typeText(type);
  const { name, kind } = innermost(type);
  if (kind === 'SCALAR') return text;
  return element('a', { href: `#${anchorOf(name)}` }, text);
}

function typeText(type) {
  if (type.kind === 'NON_NULL') return `${typeText(type.ofType)}!`;
  if (type.kind === 'LIST') return `[${typeText(type.ofType)}]`;
  return type.name;
}

function innermost(type) {
  return type.ofType ? innermost(type.ofType) : type;
}

function anchorOf(name) {
  return `type-${name}`;
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}
