# Does with a formula what Homebrew does, for machines without it: ruby brew.rb FORMULA PREFIX
#
# It picks the archive of this platform, checks its checksum, runs `install` in the unpacked folder and then `test`. It can't tell
# whether Homebrew's own audit accepts the formula.
require "digest"
require "fileutils"
require "pathname"
require "tmpdir"

PREFIX = Pathname(ARGV.fetch(1))

class Pathname
  def install(files)
    mkpath
    pairs = files.is_a?(Hash) ? files : { files => File.basename(files) }
    pairs.each { |from, to| FileUtils.cp(from, self / to, preserve: true) }
  end
end

class Formula
  SYSTEM = RUBY_PLATFORM.include?("darwin") ? :macos : :linux
  PROCESSOR = RUBY_PLATFORM.match?(/arm|aarch64/) ? :arm : :intel

  class << self
    attr_reader :tests, :archive, :checksum

    %i[desc homepage version license].each { |name| define_method(name) { |value| value } }
    %i[macos linux].each { |name| define_method("on_#{name}") { |&block| block.call if name == SYSTEM } }
    %i[arm intel].each { |name| define_method("on_#{name}") { |&block| block.call if name == PROCESSOR } }
    def url(value) = @archive = value
    def sha256(value) = @checksum = value
    def test(&block) = @tests = block
  end

  def bin = PREFIX / "bin"
  def man1 = PREFIX / "share/man/man1"
  def bash_completion = PREFIX / "etc/bash_completion.d"
  def zsh_completion = PREFIX / "share/zsh/site-functions"
  def fish_completion = PREFIX / "share/fish/vendor_completions.d"
  def testpath = Pathname(Dir.pwd)
  def system(*words) = Kernel.system(*words.map(&:to_s)) || raise("#{words.join(" ")} fails")
  def shell_output(line) = `#{line}`.tap { raise "#{line} fails" unless $?.success? }
  def assert_match(part, text) = text.include?(part) || raise("no #{part} in #{text}")
end

load ARGV.fetch(0)
formula = Nacre.new
Dir.mktmpdir do |folder|
  archive = File.join(folder, "archive.tar.gz")
  formula.system("curl", "-fsSL", Nacre.archive, "-o", archive)
  Digest::SHA256.file(archive).hexdigest == Nacre.checksum or raise "the checksum is wrong"
  formula.system("tar", "-xzf", archive, "-C", folder)
  # Homebrew enters the only folder of an archive.
  Dir.chdir(Dir[File.join(folder, "*/")].first) { formula.install }
end
Dir.mktmpdir { |folder| Dir.chdir(folder) { formula.instance_eval(&Nacre.tests) } }
