// Package pki makes the keys, certificates and kubeconfig files of one local
// cluster, in memory and with a short list of names. Everything is new for each
// cluster, so that no credential outlives it or opens another.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Names of the files that Write makes.
const (
	CAFile          = "ca.crt"
	ServerCert      = "apiserver.crt"
	ServerKey       = "apiserver.key"
	TokenKey        = "service-account.key"
	ProxyCAFile     = "proxy-ca.crt"
	ProxyCert       = "proxy.crt"
	ProxyKey        = "proxy.key"
	AdminConfig     = "kubeconfig"
	ControllersConf = "controllers.kubeconfig"
	NodeConf        = "node.kubeconfig"
)

// ProxyName is the only name that may speak for others to extension servers.
const ProxyName = "front-proxy"

// ContextName marks a kubeconfig as one of ours.
const ContextName = "sluice-cluster"

// lifetime of a certificate: far more than any test.
const lifetime = 30 * 24 * time.Hour

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// Write makes all files in dir for an API server at server (a URL). Nodes are
// known as system:node:NODE.
func Write(dir, server, node string) error {
	ca, err := newAuthority("sluice-cluster-ca")
	if err != nil {
		return err
	}
	proxy, err := newAuthority("sluice-cluster-proxy-ca")
	if err != nil {
		return err
	}
	if err := save(dir, CAFile, ca.pem); err != nil {
		return err
	}
	if err := save(dir, ProxyCAFile, proxy.pem); err != nil {
		return err
	}
	if err := ca.files(dir, ServerCert, ServerKey, serverTemplate()); err != nil {
		return err
	}
	if err := proxy.files(dir, ProxyCert, ProxyKey, clientTemplate(ProxyName)); err != nil {
		return err
	}
	if err := tokenKey(dir); err != nil {
		return err
	}
	for file, user := range map[string]string{
		AdminConfig:     "sluice-admin",
		ControllersConf: "system:kube-controller-manager",
		NodeConf:        "system:node:" + node,
	} {
		if err := ca.kubeconfig(filepath.Join(dir, file), server, user); err != nil {
			return err
		}
	}
	return nil
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template(pkix.Name{CommonName: name})
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, pem: encode("CERTIFICATE", der)}, nil
}

func template(subject pkix.Name) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(fmt.Sprintf("no randomness: %v", err))
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
}

func serverTemplate() *x509.Certificate {
	t := template(pkix.Name{CommonName: "kube-apiserver"})
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	t.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	return t
}

func clientTemplate(user string, groups ...string) *x509.Certificate {
	t := template(pkix.Name{CommonName: user, Organization: groups})
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return t
}

// sign makes a key and a certificate for it, both as PEM.
func (a *authority) sign(t *x509.Certificate) (cert, key []byte, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, k.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		return nil, nil, err
	}
	return encode("CERTIFICATE", der), encode("EC PRIVATE KEY", private), nil
}

func (a *authority) files(dir, certFile, keyFile string, t *x509.Certificate) error {
	cert, key, err := a.sign(t)
	if err != nil {
		return err
	}
	if err := save(dir, certFile, cert); err != nil {
		return err
	}
	return save(dir, keyFile, key)
}

// kubeconfig writes a file for a member of system:masters: the components of a
// test cluster are not what is under test.
func (a *authority) kubeconfig(path, server, user string) error {
	cert, key, err := a.sign(clientTemplate(user, "system:masters"))
	if err != nil {
		return err
	}
	c := clientcmdapi.NewConfig()
	c.Clusters[ContextName] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: a.pem}
	c.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	c.Contexts[ContextName] = &clientcmdapi.Context{Cluster: ContextName, AuthInfo: user, Namespace: "default"}
	c.CurrentContext = ContextName
	return clientcmd.WriteToFile(*c, path)
}

func tokenKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return save(dir, TokenKey, encode("EC PRIVATE KEY", der))
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func save(dir, name string, data []byte) error {
	return os.WriteFile(filepath.Join(dir, name), data, 0o600)
}
