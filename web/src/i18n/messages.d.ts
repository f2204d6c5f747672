declare module "messages:en" {
  const templates: Record<string, string>;
  export default templates;
}
declare module "messages:zh" {
  const templates: Record<string, string>;
  export default templates;
}
declare module "words:en" {
  const words: Record<string, string>;
  export default words;
}
declare module "words:zh" {
  const words: Record<string, string>;
  export default words;
}
