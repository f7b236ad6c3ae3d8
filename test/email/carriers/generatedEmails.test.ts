import { testSeed } from '../../support/randomNumbers.js';
import { testGeneratedEmails } from './generatedEmails.js';

testGeneratedEmails(testSeed(), 25);
