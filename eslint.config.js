import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import { noInheritedNames } from './scripts/lint/noInheritedNames.js';
import { staticSql } from './scripts/lint/staticSql.js';

const rowpost = { rules: { 'no-inherited-names': noInheritedNames, 'static-sql': staticSql } };

export default tseslint.config(
  { ignores: ['**/dist/', 'coverage/', 'site/', 'assets/', 'bench/peers/', '.rowpost/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { project: './tsconfig.check.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      // Numbers in messages are meant to be read as they are.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // `() => void` arrows that call a void function read better in one line.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
    },
  },
  {
    // What tenants name: columns, arguments, claims, headers, options.
    files: ['src/**/*.ts', 'packages/*/src/**/*.ts'],
    plugins: { rowpost },
    rules: { 'rowpost/no-inherited-names': 'error' },
  },
  {
    files: ['test/**/*.ts', 'packages/*/test/**/*.ts'],
    rules: {
      // chai's assertions are property reads: expect(x).to.be.true
      '@typescript-eslint/no-unused-expressions': 'off',
      // A test that sees a missing value should fail with a TypeError at that line.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['src/**/*.ts', 'migrations/**/*.js'],
    ignores: [
      'src/db/sql/sql.ts',
      // Its queries are GraphQL.
      'src/embedded/demo/**',
    ],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { project: './tsconfig.check.json', tsconfigRootDir: import.meta.dirname },
    },
    plugins: { rowpost },
    rules: { 'rowpost/static-sql': 'error' },
  },
  {
    files: ['**/*.js', '**/*.mjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        fetch: 'readonly',
      },
    },
  },
);
