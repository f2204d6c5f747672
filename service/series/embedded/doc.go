// Package embedded keeps series in a folder with Prometheus's TSDB and answers queries with its engine. It alone imports them.
package embedded
