class Nacre < Formula
  desc "@DESCRIPTION@"
  homepage "@URL@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]
@ARCHIVES@
  def install
    bin.install "nacre"
    man1.install "man/nacre.1"
    bash_completion.install "completions/nacre.bash" => "nacre"
    zsh_completion.install "completions/nacre.zsh" => "_nacre"
    fish_completion.install "completions/nacre.fish"
  end

  test do
    ENV["NACRE_HOME"] = testpath.to_s
    system bin/"nacre", "store", "Our staging server is called heron"
    assert_match "heron", shell_output("#{bin}/nacre search server")
  end
end
