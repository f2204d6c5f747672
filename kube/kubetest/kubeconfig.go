package kubetest

import (
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a configuration to a file.
func WriteKubeconfig(r *rest.Config, path string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: r.Host, CertificateAuthorityData: r.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: r.CertData, ClientKeyData: r.KeyData, Token: r.BearerToken}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	if !strings.HasPrefix(r.Host, "http") {
		config.Clusters["test"].Server = "https://" + r.Host
	}
	return clientcmd.WriteToFile(*config, path)
}
