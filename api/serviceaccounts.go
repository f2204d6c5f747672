package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/tenants"
)

// The service accounts that belong to no tenant and those of a tenant have routes of their own, so
// that the path tells the domain that rights are judged by. What they do is the same.

func serviceRef(d tenants.Domain, name string) control.AccountRef {
	return control.AccountRef{Kind: control.PrincipalService, Name: name, Domain: d}
}

func (s *Server) serviceAccounts(ctx context.Context, d tenants.Domain, limit *gen.Limit, from *gen.Cursor) (gen.ServiceAccountList, error) {
	items, next, err := listed(ctx, d, limit, from, s.control.ListServiceAccounts, serviceAccountOut)
	return gen.ServiceAccountList{Items: items, NextCursor: next}, err
}

func (s *Server) createServiceAccount(ctx context.Context, d tenants.Domain, body gen.ServiceAccountCreate) (gen.ServiceAccount, error) {
	a, err := s.control.CreateServiceAccount(ctx, control.ServiceAccountInput{
		Name: body.Name, DisplayName: deref(body.DisplayName), Grant: tenants.Grant{Role: tenants.Role(body.Role), Domain: d},
	})
	return serviceAccountOut(a), err
}

func serviceAccountOut(a control.Account) gen.ServiceAccount {
	out := gen.ServiceAccount{Name: a.Name, DisplayName: a.DisplayName, CreatedAt: a.CreatedAt}
	if len(a.Memberships) > 0 {
		out.Role = gen.Role(a.Memberships[0].Role)
		if d := a.Memberships[0].Domain; d.Whole() {
			out.Fabric = &d.Fabric
		}
	}
	return out
}

func (s *Server) tokens(ctx context.Context, d tenants.Domain, account string) (gen.TokenList, error) {
	list, err := s.control.ListTokens(ctx, serviceRef(d, account))
	return gen.TokenList{Items: mapped(list, tokenOut)}, err
}

// ListServiceAccounts implements the contract.
func (s *Server) ListServiceAccounts(ctx context.Context, r gen.ListServiceAccountsRequestObject) (gen.ListServiceAccountsResponseObject, error) {
	out, err := s.serviceAccounts(ctx, tenants.Domain{}, r.Params.Limit, r.Params.Cursor)
	return gen.ListServiceAccounts200JSONResponse(out), err
}

// CreateServiceAccount implements the contract.
func (s *Server) CreateServiceAccount(ctx context.Context, r gen.CreateServiceAccountRequestObject) (gen.CreateServiceAccountResponseObject, error) {
	out, err := s.createServiceAccount(ctx, tenants.Domain{Fabric: deref(r.Body.Fabric)}, *r.Body)
	return gen.CreateServiceAccount201JSONResponse(out), err
}

// DeleteServiceAccount implements the contract.
func (s *Server) DeleteServiceAccount(ctx context.Context, r gen.DeleteServiceAccountRequestObject) (gen.DeleteServiceAccountResponseObject, error) {
	return gen.DeleteServiceAccount204Response{}, s.control.DeleteServiceAccount(ctx, tenants.Domain{}, r.Account)
}

// ListServiceAccountTokens implements the contract.
func (s *Server) ListServiceAccountTokens(ctx context.Context, r gen.ListServiceAccountTokensRequestObject) (gen.ListServiceAccountTokensResponseObject, error) {
	out, err := s.tokens(ctx, tenants.Domain{}, r.Account)
	return gen.ListServiceAccountTokens200JSONResponse(out), err
}

// CreateServiceAccountToken implements the contract.
func (s *Server) CreateServiceAccountToken(ctx context.Context, r gen.CreateServiceAccountTokenRequestObject) (gen.CreateServiceAccountTokenResponseObject, error) {
	out, err := s.newToken(ctx, serviceRef(tenants.Domain{}, r.Account), *r.Body)
	return gen.CreateServiceAccountToken201JSONResponse(out), err
}

// DeleteServiceAccountToken implements the contract.
func (s *Server) DeleteServiceAccountToken(ctx context.Context, r gen.DeleteServiceAccountTokenRequestObject) (gen.DeleteServiceAccountTokenResponseObject, error) {
	return gen.DeleteServiceAccountToken204Response{}, s.control.DeleteToken(ctx, serviceRef(tenants.Domain{}, r.Account), r.Token)
}

// ListTenantServiceAccounts implements the contract.
func (s *Server) ListTenantServiceAccounts(ctx context.Context, r gen.ListTenantServiceAccountsRequestObject) (gen.ListTenantServiceAccountsResponseObject, error) {
	out, err := s.serviceAccounts(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Params.Limit, r.Params.Cursor)
	return gen.ListTenantServiceAccounts200JSONResponse(out), err
}

// CreateTenantServiceAccount implements the contract.
func (s *Server) CreateTenantServiceAccount(ctx context.Context, r gen.CreateTenantServiceAccountRequestObject) (gen.CreateTenantServiceAccountResponseObject, error) {
	if r.Body.Fabric != nil {
		return nil, control.Invalid("/fabric", phrase.Of("problem.tenant-account-fabric", "found", *r.Body.Fabric))
	}
	out, err := s.createServiceAccount(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, *r.Body)
	return gen.CreateTenantServiceAccount201JSONResponse(out), err
}

// DeleteTenantServiceAccount implements the contract.
func (s *Server) DeleteTenantServiceAccount(ctx context.Context, r gen.DeleteTenantServiceAccountRequestObject) (gen.DeleteTenantServiceAccountResponseObject, error) {
	return gen.DeleteTenantServiceAccount204Response{}, s.control.DeleteServiceAccount(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Account)
}

// ListTenantServiceAccountTokens implements the contract.
func (s *Server) ListTenantServiceAccountTokens(ctx context.Context, r gen.ListTenantServiceAccountTokensRequestObject) (gen.ListTenantServiceAccountTokensResponseObject, error) {
	out, err := s.tokens(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Account)
	return gen.ListTenantServiceAccountTokens200JSONResponse(out), err
}

// CreateTenantServiceAccountToken implements the contract.
func (s *Server) CreateTenantServiceAccountToken(ctx context.Context, r gen.CreateTenantServiceAccountTokenRequestObject) (gen.CreateTenantServiceAccountTokenResponseObject, error) {
	out, err := s.newToken(ctx, serviceRef(tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Account), *r.Body)
	return gen.CreateTenantServiceAccountToken201JSONResponse(out), err
}

// DeleteTenantServiceAccountToken implements the contract.
func (s *Server) DeleteTenantServiceAccountToken(ctx context.Context, r gen.DeleteTenantServiceAccountTokenRequestObject) (gen.DeleteTenantServiceAccountTokenResponseObject, error) {
	d := tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}
	return gen.DeleteTenantServiceAccountToken204Response{}, s.control.DeleteToken(ctx, serviceRef(d, r.Account), r.Token)
}
