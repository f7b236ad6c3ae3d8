import { compileAggregate, isAggregate } from './aggregateComparison.js';
import type { Environment, Operand } from '../environment.js';
import { compileCall } from './functions.js';
import { compileArithmetic, compileSign } from './operators.js';
import { compileColumn, resolvePath } from '../rows/paths.js';
import { compilePrincipal } from './principal.js';
import type { FilterNode } from '../syntax/tree.js';
import { TYPES } from '../types.js';

/** Compiles an operand or an argument. @throws AppError FILTER_* */
export function compileOperand(node: FilterNode, environment: Environment): Operand {
  switch (node.kind) {
    case 'number':
    case 'text':
    case 'boolean':
    case 'null':
      return { is: 'literal', node };
    case 'literals':
      return { is: 'literals', node };
    case 'list':
      return { is: 'list', node };
    case 'path':
      return compileColumn(resolvePath(node, environment), node, environment);
    case 'principal':
      return compilePrincipal(node);
    case 'arithmetic':
      return compileArithmetic(node, environment);
    case 'sign':
      return compileSign(node, environment);
    case 'call':
      return isAggregate(node) ? compileAggregate(node, environment) : compileCall(node, environment);
    default: {
      const { sql, reads } = environment.compileCondition(node, environment, 'value');
      return { is: 'value', type: TYPES.boolean, sql, operand: 'computed', reads };
    }
  }
}
