// An ESLint rule: an object is not indexed by a name that is only known at run time, because under names such as
// `constructor` and `__proto__` it finds what all objects inherit, or changes it. ownValue.ts reads own properties.
import ts from 'typescript';

/** Types of keys that may be any text. Numbers, symbols and unions of literals can't be. */
const ANY_TEXT =
  ts.TypeFlags.String |
  ts.TypeFlags.Any |
  ts.TypeFlags.Unknown |
  ts.TypeFlags.TemplateLiteral |
  ts.TypeFlags.StringMapping |
  ts.TypeFlags.TypeParameter |
  ts.TypeFlags.Index |
  ts.TypeFlags.IndexedAccess;

export const noInheritedNames = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      index: 'Read with ownValue(), or use a Map: this name may be one that all objects inherit.',
      in: 'Use Object.hasOwn(): `in` also finds what all objects inherit.',
    },
  },
  create(context) {
    const { parserServices } = context.sourceCode;
    const mayBeAnyText = (node) => {
      const type = parserServices.getTypeAtLocation(node);
      return (type.isUnion() ? type.types : [type]).some(({ flags }) => (flags & ANY_TEXT) !== 0);
    };
    const report = (node, key, messageId) => {
      if (key.type !== 'PrivateIdentifier' && mayBeAnyText(key)) context.report({ node, messageId });
    };
    return {
      'MemberExpression[computed=true]': (node) => report(node, node.property, 'index'),
      'BinaryExpression[operator="in"]': (node) => report(node, node.left, 'in'),
      'ObjectPattern > Property[computed=true]': (node) => report(node, node.key, 'index'),
    };
  },
};
