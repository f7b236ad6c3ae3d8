// Loaded by mocha before every test file.
process.env['NODE_ENV'] ??= 'test';
