let current;

/** Lists the types of an introspection result whose name or fields hold the search text. */
export function showSchema(container, search, schema = current) {
  if (!schema) return;
  current = schema;
  const roots = [schema.queryType?.name, schema.mutationType?.name];
  const rank = (type) => (roots.includes(type.name) ? roots.indexOf(type.name) : roots.length);
  const wanted = search.trim().toLowerCase();
  const types = schema.types
    .filter((type) => !type.name.startsWith('__') && type.kind !== 'SCALAR')
    .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
  container.replaceChildren(...types.flatMap((type) => describe(type, wanted)));
}

function describe(type, wanted) {
  const isWanted = (text) => text.toLowerCase().includes(wanted);
  const members = [...(type.fields ?? []), ...(type.inputFields ?? []), ...(type.enumValues ?? [])];
  const shown = isWanted(type.name) ? members : members.filter((member) => isWanted(member.name));
  if (shown.length === 0) return [];
  const heading = document.createElement('h3');
  heading.textContent = type.name;
  const list = document.createElement('ul');
  list.append(
    ...shown.map((member) => {
      const item = document.createElement('li');
      const rest = document.createElement('span');
      const args = member.args?.map((arg) => `${arg.name}: ${typeText(arg.type)}`).join(', ');
      rest.textContent = `${args ? `(${args})` : ''}${member.type ? `: ${typeText(member.type)}` : ''}`;
      if (member.description) item.title = member.description;
      item.append(member.name, rest);
      return item;
    }),
  );
  return [heading, list];
}

function typeText(type) {
  if (type.kind === 'NON_NULL') return `${typeText(type.ofType)}!`;
  if (type.kind === 'LIST') return `[${typeText(type.ofType)}]`;
  return type.name;
}
