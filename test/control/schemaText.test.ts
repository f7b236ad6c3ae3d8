import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { printSchema } from 'graphql';
import { buildControlSchema } from '../../src/control/controlSchema.js';

const GOLDEN = new URL('schema.graphql', import.meta.url);

describe('the schema of /roles_pbac', () => {
  it('is test/control/schema.graphql, byte for byte', () => {
    expect(`${printSchema(buildControlSchema())}\n`).to.equal(readFileSync(GOLDEN, 'utf8'));
  });
});
