export { type AppSummary, type CreatorSummary, createOperator } from './service.ts';
