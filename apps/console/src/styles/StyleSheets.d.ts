/**
 * Lets TypeScript accept the imports of style sheets, which only the build reads.
 */
declare module "*.css"
