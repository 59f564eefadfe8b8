export * from "../../../src/client.ts"
export { Api } from "../../../src/http/api/Api.ts"
