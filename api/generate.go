// Package api is the HTTP edge of the service: the contract in openapi.yaml, and handlers that decode, call a use case
// and encode. A middleware validates requests against the contract before a handler receives them. Every error is a
// problem document (RFC 9457) in this project's own words.
package api

//go:generate sh -c "cd gen && go tool oapi-codegen -config config.yaml ../openapi.yaml"
//go:generate sh -c "cd server && go tool oapi-codegen -config config.yaml ../openapi.yaml"
//go:generate sh -c "cd client && go tool oapi-codegen -config config.yaml ../openapi.yaml"
