declare module "messages:en" {
  const templates: Record<string, string>;
  export default templates;
}
declare module "messages:zh" {
  const templates: Record<string, string>;
  export default templates;
}
