import { testGeneratedEmails } from '../../../email/carriers/generatedEmails.js';
import { testSeed } from '../../../support/randomNumbers.js';

testGeneratedEmails(testSeed(), Number(process.env['EMAILS'] ?? 500));
