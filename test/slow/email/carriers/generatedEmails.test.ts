import { testGeneratedEmails } from '../../../email/carriers/generatedEmails.js';
import { randomSeed } from '../../../support/randomNumbers.js';

testGeneratedEmails(randomSeed(), Number(process.env['EMAILS'] ?? 500));
