// ESLint rule: no text made at run time becomes SQL. What is sent has a type that the compiler knows character by character,
// or is an `SqlText`, which src/db/sql/sql.ts makes of quoted names and constants. Reads types, so it follows constants over files.

/** The latter in migrations. */
const SENDS = /^(?:query|raw)$/;
/** In lower case, as SQL is written here: sentences begin otherwise. */
const BEGINS_AS_SQL =
  /^\s*(?:select|insert into|update|delete from|with|create|alter|drop|grant|revoke|set|reset|lock|do|begin|savepoint|copy|truncate|call|comment on|reassign|notify|listen|explain|prepare|execute|merge|vacuum|analyze|refresh|reindex)\s/;
const MADE_IN_SQL_TS = new Set(['Sql', 'SqlText']);

export const staticSql = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      sent: 'Not known before it runs: send a constant, or what the tag `statement` or `toStatement` makes.',
      made: 'SQL is put together by the tags `sql` and `statement`, which quote names.',
      forged: 'Only src/db/sql/sql.ts makes an `{{name}}`.',
      formatted: 'Disable this rule here with the reason why each name in it is quoted.',
    },
  },
  create(context) {
    const services = context.sourceCode.parserServices;
    const checker = services.program.getTypeChecker();
    const isStatic = (node) => isStaticType(services.getTypeAtLocation(node), checker);
    const checkMade = (node, beginning) => {
      if (BEGINS_AS_SQL.test(beginning) && !isStatic(node)) context.report({ node, messageId: 'made' });
    };
    const checkForged = (node, name) => {
      if (MADE_IN_SQL_TS.has(name)) context.report({ node, messageId: 'forged', data: { name } });
    };
    return {
      CallExpression(node) {
        const [first] = node.arguments;
        if (node.callee.name === 'formatted') context.report({ node, messageId: 'formatted' });
        if (first && SENDS.test(propertyOf(node.callee)) && !isStatic(first)) {
          context.report({ node: first, messageId: 'sent' });
        }
      },
      TemplateLiteral(node) {
        const isTagged = node.parent.type === 'TaggedTemplateExpression';
        if (!isTagged && node.expressions.length > 0) checkMade(node, node.quasis[0].value.cooked);
      },
      'BinaryExpression[operator="+"] > Literal.left'(node) {
        if (typeof node.value === 'string') checkMade(node.parent, node.value);
      },
      NewExpression(node) {
        checkForged(node, node.callee.name);
      },
      TSAsExpression(node) {
        checkForged(node, node.typeAnnotation.typeName?.name);
      },
    };
  },
};

function propertyOf(callee) {
  if (callee.type !== 'MemberExpression') return '';
  return callee.computed ? String(callee.property.value) : callee.property.name;
}

/** A constant, an `SqlText`, or a statement whose `text` is one of these. */
function isStaticType(type, checker) {
  if (type.isUnion()) return type.types.every((one) => isStaticType(one, checker));
  if (type.isStringLiteral() || type.getProperty('isSqlText')) return true;
  const text = type.getProperty('text');
  return text !== undefined && isStaticType(checker.getTypeOfSymbol(text), checker);
}
