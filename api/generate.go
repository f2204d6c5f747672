// Package api is the HTTP edge of the service: the contract in openapi.yaml, handlers that
// decode, call a use case and encode. What a request may look like is judged by
// the contract itself, in a middleware, before a handler sees it; every error leaves as a
// problem document (RFC 9457) in words of our own.
package api

//go:generate sh -c "cd gen && go tool oapi-codegen -config config.yaml ../openapi.yaml"
//go:generate sh -c "cd server && go tool oapi-codegen -config config.yaml ../openapi.yaml"
//go:generate sh -c "cd client && go tool oapi-codegen -config config.yaml ../openapi.yaml"
